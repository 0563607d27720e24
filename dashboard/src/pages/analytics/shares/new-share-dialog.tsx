/** The form of a new share: its content and its access. */
import { useForm, type UseFormReturn } from "react-hook-form";

import type { ResponseBody } from "../../../../../clients/typescript/src/index.ts";
import {
  shareBreakdowns,
  shareName,
  shareOrigin,
  sharePassword,
} from "../../../../../shared/contracts/share-schemas.ts";
import { getClient } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { FormDialog } from "../../../ui/dialog.tsx";
import { CheckField, Disclosure, formField, PasswordField, TextField } from "../../../ui/field.tsx";
import { toInstant } from "../../../ui/local-time.ts";
import { useApiMutation } from "../../../ui/mutation.ts";
import { validateWith } from "../../../ui/validation.ts";
import { readRange } from "../analytics-path.ts";
import { FILTER_LABELS, type FilterName } from "../filters.ts";

export type NewShare = ResponseBody<"createShare">;

/** The dimensions that a share can show: columns of clicks. */
const BREAKDOWNS = (Object.keys(FILTER_LABELS) as FilterName[]).filter(
  (name) => name !== "tag" && name !== "domain" && name !== "class",
);

type Breakdown = (typeof BREAKDOWNS)[number];

type Values = {
  name: string;
  breakdowns: Breakdown[];
  password: string;
  expires_at: string;
  embed_origins: string;
};

const splitOrigins = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** An optional field is validated only if it has text. */
const optional = (validate: (text: string) => true | string) => (text: string) =>
  text === "" || validate(text);

export function NewShareDialog({
  link,
  onCreated,
  onClose,
}: {
  link: string | null;
  onCreated: (share: NewShare) => void;
  onClose: () => void;
}) {
  const { scope } = useAccountContext();
  const { timezone } = readRange(new URLSearchParams(location.search));
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: {
      name: "",
      breakdowns: ["country", "device", "referrer"],
      password: "",
      expires_at: "",
      embed_origins: "",
    },
  });
  const create = useApiMutation(
    ({ name, breakdowns, password, expires_at, embed_origins }: Values) =>
      getClient(scope).shares.create({
        link_id: link,
        timezone,
        breakdowns,
        name: name.trim() === "" ? null : name.trim(),
        password: password === "" ? null : password,
        expires_at: expires_at === "" ? null : toInstant(expires_at),
        embed_origins: splitOrigins(embed_origins),
      }),
    { invalidate: [["shares", scope]], onSuccess: onCreated },
  );
  return (
    <FormDialog
      title={t("shares.new")}
      action={t("shares.create")}
      onSubmit={form.handleSubmit((values) => create.mutate(values))}
      onClose={onClose}
      task={create}
      wide
    >
      <ContentFields form={form} />
      <AccessFields form={form} />
    </FormDialog>
  );
}

type FieldsProps = { form: UseFormReturn<Values> };

function ContentFields({ form }: FieldsProps) {
  const { errors } = form.formState;
  return (
    <>
      <TextField
        label={t("shares.name")}
        hint={t("shares.nameHint")}
        {...formField(form, "name", { validate: optional(validateWith(shareName)) })}
      />
      <fieldset>
        <legend>{t("shares.breakdowns")}</legend>
        <div className="columns">
          {BREAKDOWNS.map((name) => (
            <CheckField
              key={name}
              label={t(FILTER_LABELS[name])}
              value={name}
              {...form.register("breakdowns", { validate: validateWith(shareBreakdowns) })}
            />
          ))}
        </div>
        {errors.breakdowns !== undefined && (
          <small className="field-error" role="alert">
            {t("shares.upToEight")}
          </small>
        )}
      </fieldset>
    </>
  );
}

function AccessFields({ form }: FieldsProps) {
  const { errors } = form.formState;
  return (
    <>
      <PasswordField
        label={t("shares.password")}
        autoComplete="new-password"
        hint={t("shares.passwordHint")}
        {...formField(form, "password", { validate: optional(validateWith(sharePassword)) })}
      />
      <TextField
        label={t("shares.expires")}
        type="datetime-local"
        hint={t("shares.expiresHint")}
        {...form.register("expires_at")}
      />
      <Disclosure title={t("shares.embedding")} hasError={errors.embed_origins !== undefined}>
        <TextField
          label={t("shares.sites")}
          placeholder="https://www.example.com"
          hint={t("shares.sitesHint")}
          {...formField(form, "embed_origins", {
            validate: (text) =>
              splitOrigins(text).map(validateWith(shareOrigin)).find(isProblem) ?? true,
          })}
        />
      </Disclosure>
    </>
  );
}

const isProblem = (result: true | string): result is string => result !== true;

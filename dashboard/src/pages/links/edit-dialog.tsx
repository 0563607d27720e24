/** Making a link, and changing one. What is typed is checked as it is typed, by the API's own rules. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useForm, type UseFormReturn } from "react-hook-form";

import { type Link, ShorthopError } from "../../../../clients/typescript/src/index.ts";
import { useChange } from "../../data/change.ts";
import { messageOf } from "../../data/errors.ts";
import { ask, baseOf, clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { More } from "../../ui/more.tsx";
import { Show } from "../../ui/states.tsx";
import {
  bodyOf,
  changesOf,
  type LinkSettings,
  type LinkValues,
  problemsOf,
  UTM_FIELDS,
  valuesOf,
} from "./form.ts";

export function EditDialog({ link, onClose }: { link?: Link; onClose: () => void }) {
  const { place } = useHere();
  const settings = useQuery({
    queryKey: ["link-settings", place, link?.id],
    enabled: link !== undefined,
    // What a form begins with must be what is there now.
    staleTime: 0,
    gcTime: 0,
    queryFn: () => ask<LinkSettings>(`${baseOf(place)}/link-settings/${link?.id}`),
  });
  return (
    <Dialog title={link === undefined ? "New link" : "Edit link"} onClose={onClose} wide>
      {link === undefined ? (
        <LinkForm onClose={onClose} />
      ) : (
        <Show query={settings} what="the link" lines={6}>
          {(data) => <LinkForm link={link} settings={data} onClose={onClose} />}
        </Show>
      )}
    </Dialog>
  );
}

type LinkFormProps = { link?: Link; settings?: LinkSettings; onClose: () => void };

/** Which field a refusal of the API is about. */
const FIELD_OF_CODE: Readonly<Record<string, "url" | "alias">> = {
  invalid_url: "url",
  invalid_alias: "alias",
  alias_taken: "alias",
};

function LinkForm({ link, settings, onClose }: LinkFormProps) {
  const { place } = useHere();
  const before = valuesOf(link, settings);
  const form = useForm<LinkValues>({
    mode: "onChange",
    defaultValues: before,
    resolver(values) {
      const problems = problemsOf(values, Date.now(), link === undefined ? undefined : before);
      const errors = Object.fromEntries(
        Object.entries(problems).map(([name, message]) => [name, { type: "rule", message }]),
      );
      return Object.keys(errors).length === 0 ? { values, errors: {} } : { values: {}, errors };
    },
  });
  const save = useChange(
    async (values: LinkValues) => {
      const { links } = clientOf(place);
      if (link === undefined) return await links.create(bodyOf(values));
      return await links.update(link.id, changesOf(before, values));
    },
    {
      refresh: [
        ["links", place],
        ["link", place],
      ],
      done: ({ short_url }) =>
        link === undefined ? `${short_url} is ready.` : "The link has been changed.",
      onDone: onClose,
    },
  );
  const field = save.error instanceof ShorthopError ? FIELD_OF_CODE[save.error.code] : undefined;
  useEffect(() => {
    if (field === undefined) return;
    form.setError(field, { message: messageOf(save.error) }, { shouldFocus: true });
  }, [form, field, save.error]);
  return (
    <DialogForm
      action={link === undefined ? "Make link" : "Save"}
      onSubmit={(event) => void form.handleSubmit((values) => save.mutate(values))(event)}
      onCancel={onClose}
      busy={save.isPending}
      error={field === undefined ? save.error : null}
    >
      <MainFields form={form} isNew={link === undefined} />
      <MoreFields form={form} hasPassword={settings?.has_password ?? false} />
    </DialogForm>
  );
}

type FieldsProps = { form: UseFormReturn<LinkValues> };

function MainFields({ form, isNew }: FieldsProps & { isNew: boolean }) {
  const { register } = form;
  const { errors } = form.formState;
  return (
    <>
      <TextField
        label="Destination"
        type="url"
        inputMode="url"
        placeholder="https://example.com/a/long/path"
        autoFocus
        required
        problem={errors.url?.message}
        {...register("url")}
      />
      <div className="columns">
        {isNew && <DomainField form={form} />}
        <TextField
          label="Alias"
          hint={isNew ? "Left empty, a short one is made." : "The old one stops working."}
          autoCapitalize="none"
          spellCheck={false}
          problem={errors.alias?.message}
          {...register("alias")}
        />
      </div>
      <TextField label="Title" problem={errors.title?.message} {...register("title")} />
      <TextField
        label="Tags"
        hint="Separated by commas."
        problem={errors.tags?.message}
        {...register("tags")}
      />
    </>
  );
}

function DomainField({ form }: FieldsProps) {
  const { place, session } = useHere();
  const domains = useQuery({
    queryKey: ["domains", place],
    queryFn: () => Array.fromAsync(clientOf(place).domains.all()),
  });
  const verified = (domains.data ?? []).filter(({ status }) => status === "verified");
  return (
    <SelectField
      label="Domain"
      choices={[
        { value: "", label: new URL(session.short_url).host },
        ...verified.map(({ domain }) => ({ value: domain, label: domain })),
      ]}
      {...form.register("domain")}
    />
  );
}

function MoreFields({ form, hasPassword }: FieldsProps & { hasPassword: boolean }) {
  const { register, watch } = form;
  const { errors } = form.formState;
  return (
    <>
      <More
        title="Expiry, password and query"
        wrong={errors.expires_at !== undefined || errors.password !== undefined}
      >
        <div className="stack">
          <TextField
            label="Expires"
            type="datetime-local"
            hint="In your local time. Afterwards the link answers that it has expired."
            problem={errors.expires_at?.message}
            {...register("expires_at")}
          />
          <TextField
            label={hasPassword ? "New password" : "Password"}
            type="password"
            autoComplete="new-password"
            hint={
              hasPassword
                ? "Left empty, the password stays as it is."
                : "What visitors are asked for."
            }
            disabled={watch("removePassword")}
            problem={errors.password?.message}
            {...register("password")}
          />
          {hasPassword && (
            <CheckField label="Remove the password" {...register("removePassword")} />
          )}
          <CheckField
            label="Pass on the query"
            hint="What stands behind ? in the short URL is added to the destination."
            {...register("forward_query")}
          />
        </div>
      </More>
      <More title="UTM parameters" wrong={UTM_FIELDS.some(([name]) => errors[name] !== undefined)}>
        <div className="columns">
          {UTM_FIELDS.map(([name, label, example]) => (
            <TextField
              key={name}
              label={label}
              placeholder={example}
              problem={errors[name]?.message}
              {...register(name)}
            />
          ))}
        </div>
      </More>
    </>
  );
}

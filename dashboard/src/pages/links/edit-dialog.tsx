/** Creates or edits a link. Validates input while the user types, by the API's rules. */
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useImperativeHandle, useRef, useState } from "react";
import { useForm, type UseFormReturn, useWatch } from "react-hook-form";

import { type FullLink, ShorthopError } from "../../../../clients/typescript/src/index.ts";
import { completeUrl } from "../../../../shared/contracts/web-url.ts";
import { useDomainOptions } from "../../data/account-lists.ts";
import type { CreatedLink, NewLinkStart } from "../../data/commands.ts";
import { getClient, getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Dialog, useUnsavedGuard } from "../../ui/dialog.tsx";
import {
  Form,
  formField,
  SelectField,
  TagsField,
  TextAreaField,
  TextField,
} from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { QueryBoundary } from "../../ui/states.tsx";
import { copyWhenReady, PasteButton, useCopiedUrl } from "./clipboard.tsx";
import {
  copyDecisions,
  copyValues,
  fieldOf,
  getChanges,
  isChanged,
  type LinkValues,
  toFormValues,
  toRequestBody,
  validateLink,
} from "./form.ts";
import { OptionalFields } from "./option-fields.tsx";

type EditDialogProps = {
  onClose: () => void;
} & ({ link: { id: string } } | { start: NewLinkStart; onCreated: (created: CreatedLink) => void });

export function EditDialog(props: EditDialogProps) {
  const isNew = "start" in props;
  const id = isNew ? props.start.copyOf : props.link.id;
  const readDirty = useRef<() => boolean>(null);
  const { guard, confirmation } = useUnsavedGuard(() => readDirty.current?.() ?? false);
  const close = () => guard(props.onClose);
  const common = { readDirty, onCancel: close };
  const current = useSavedLink(id);
  return (
    <Dialog title={isNew ? t("commands.newLink") : t("links.form.editTitle")} onClose={close} wide>
      {id === undefined && isNew && (
        <LinkForm
          {...common}
          initial={{ ...toFormValues(), url: props.start.url ?? "" }}
          onCreated={props.onCreated}
        />
      )}
      {id !== undefined && (
        <QueryBoundary query={current} label={t("links.theLink")} lines={6}>
          {(link) =>
            isNew ? (
              <LinkForm
                {...common}
                initial={copyValues(link, Date.now())}
                original={link}
                onCreated={props.onCreated}
              />
            ) : (
              <LinkForm
                {...common}
                initial={toFormValues(link)}
                link={link}
                onSaved={props.onClose}
              />
            )
          }
        </QueryBoundary>
      )}
      {confirmation}
    </Dialog>
  );
}

/**
 * Fetches a link with all of its settings: a form must start from the current ones, never from
 * cached ones.
 */
function useSavedLink(id: string | undefined) {
  const { scope } = useAccountContext();
  return useQuery({
    queryKey: ["link to edit", scope, id],
    enabled: id !== undefined,
    staleTime: 0,
    gcTime: 0,
    queryFn: () =>
      getJson<FullLink>(`${getBasePath(scope)}/v1/links/${id}`, {
        query: { include: "settings" },
      }),
  });
}

/** The form of a link: its fields, the request, and the errors of the response. */
type LinkFormProps = {
  /** The initial values: those of a link, or the defaults of a new one. */
  initial: LinkValues;
  /** The edited link; without one, the form creates a link. */
  link?: FullLink;
  /** The link that a new one copies. */
  original?: FullLink;
  /** Receives a function that returns whether anything has been changed. */
  readDirty: RefObject<(() => boolean) | null>;
  onCancel: () => void;
  onSaved?: () => void;
  onCreated?: (created: CreatedLink) => void;
};

function LinkForm(props: LinkFormProps) {
  const { link, original, readDirty, onCancel } = props;
  // Later renders pass new values, but input is compared with the first ones.
  const [initial] = useState(props.initial);
  const form = useLinkForm(initial, link !== undefined);
  /** The values that the form has without user input, including a URL from the clipboard. */
  const untouched = useRef(initial);
  useImperativeHandle(readDirty, () => () => isChanged(untouched.current, form.getValues()));
  function fillUrl(url: string): void {
    untouched.current = { ...untouched.current, url };
    form.setValue("url", url, { shouldValidate: true });
    form.setFocus("url", { shouldSelect: true });
  }
  const save = useSave(props, initial);
  const param = save.error instanceof ShorthopError ? save.error.param : undefined;
  const field = param === undefined ? undefined : fieldOf(param, initial);
  useEffect(() => {
    if (field === undefined) return;
    form.setError(field, { message: getErrorMessage(save.error) }, { shouldFocus: true });
  }, [form, field, save.error]);
  return (
    <Form
      action={link === undefined ? t("links.form.create") : t("links.form.save")}
      onSubmit={form.handleSubmit((values) => save.mutate(values))}
      onCancel={onCancel}
      task={{ isPending: save.isPending, error: field === undefined ? save.error : null }}
    >
      {original !== undefined && (
        <p className="hint">{t("links.form.copyOf", { alias: original.alias })}</p>
      )}
      <MainFields form={form} isNew={link === undefined} fillUrl={fillUrl} />
      <OptionalFields form={form} link={link} />
    </Form>
  );
}

function useLinkForm(initial: LinkValues, isSaved: boolean): UseFormReturn<LinkValues> {
  return useForm<LinkValues>({
    mode: "onChange",
    defaultValues: initial,
    resolver(values) {
      const messages = validateLink(values, Date.now(), isSaved ? initial : undefined);
      const errors = Object.fromEntries(
        Object.entries(messages).map(([name, message]) => [name, { type: "rule", message }]),
      );
      return Object.keys(errors).length === 0 ? { values, errors: {} } : { values: {}, errors };
    },
  });
}

function useSave({ link, original, onSaved, onCreated }: LinkFormProps, initial: LinkValues) {
  const { scope } = useAccountContext();
  return useApiMutation(
    async (values: LinkValues) => {
      const { links } = getClient(scope);
      if (link !== undefined) {
        await links.update(link.id, getChanges(initial, values));
        return;
      }
      const decisions = original === undefined ? {} : copyDecisions(original);
      const created = links.create({ ...toRequestBody(values), ...decisions });
      const copied = copyWhenReady(created.then(({ short_url }) => short_url));
      // Called immediately: the list is fetched again meanwhile.
      onCreated?.({ link: await created, copied });
    },
    {
      invalidate: [
        ["links", scope],
        ["link", scope],
        ["tags", scope],
      ],
      ...(link === undefined ? {} : { successMessage: t("links.form.updated") }),
      ...(onSaved === undefined ? {} : { onSuccess: onSaved }),
    },
  );
}

type FieldsProps = { form: UseFormReturn<LinkValues> };

/** `fillUrl` puts a URL into the form and selects it, so that typing replaces it. */
type MainFieldsProps = FieldsProps & { isNew: boolean; fillUrl: (url: string) => void };

function MainFields({ form, isNew, fillUrl }: MainFieldsProps) {
  const tags = useWatch({ control: form.control, name: "tags" });
  useCopiedUrl(isNew && form.getValues("url") === "", (url) => {
    // The user may have typed something while the clipboard was read.
    if (form.getValues("url") === "") fillUrl(url);
  });
  return (
    <>
      <div className="with-button">
        <TextField
          label={t("links.form.destination")}
          type="url"
          inputMode="url"
          placeholder="https://example.com/a/long/path"
          autoFocus
          required
          {...formField(form, "url", { onBlur: () => completeField(form) })}
        />
        {isNew && <PasteButton onPaste={fillUrl} />}
      </div>
      <div className="columns">
        {isNew && <DomainField form={form} />}
        <TextField
          label={t("links.form.alias")}
          hint={isNew ? t("links.form.aliasHintNew") : t("links.form.aliasHint")}
          autoCapitalize="none"
          spellCheck={false}
          {...formField(form, "alias")}
        />
      </div>
      <TextField
        label={t("links.form.title")}
        hint={t("links.form.titleHint")}
        {...formField(form, "title")}
      />
      <TagsField label={t("links.form.tags")} text={tags} {...formField(form, "tags")} />
      <TextAreaField
        label={t("links.form.notes")}
        hint={t("links.form.notesHint")}
        rows={2}
        {...formField(form, "notes")}
      />
    </>
  );
}

/** Displays the scheme that is added to a host. */
function completeField(form: UseFormReturn<LinkValues>): void {
  const typed = form.getValues("url");
  const url = completeUrl(typed);
  if (url !== typed) form.setValue("url", url, { shouldDirty: true, shouldValidate: true });
}

function DomainField({ form }: FieldsProps) {
  const options = useDomainOptions();
  return (
    <SelectField label={t("links.form.domain")} options={options} {...form.register("domain")} />
  );
}

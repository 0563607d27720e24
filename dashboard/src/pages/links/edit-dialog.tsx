/** Creates or edits a link. Validates input while it is typed, by the API's rules. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useForm, type UseFormReturn } from "react-hook-form";

import {
  type FullLink,
  type ListedLink,
  ShorthopError,
} from "../../../../clients/typescript/src/index.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getBasePath, getClient, getJson } from "../../data/http.ts";
import { useApiMutation } from "../../data/mutation.ts";
import { useAccountContext } from "../../data/session.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { QueryBoundary } from "../../ui/states.tsx";
import {
  fieldOf,
  getChanges,
  type LinkValues,
  toFormValues,
  toRequestBody,
  validateLink,
} from "./form.ts";
import { OptionalFields } from "./option-fields.tsx";

export function EditDialog({ link, onClose }: { link?: ListedLink; onClose: () => void }) {
  const { scope } = useAccountContext();
  const current = useQuery({
    queryKey: ["link to edit", scope, link?.id],
    enabled: link !== undefined,
    // The form must start from the current values, never from cached ones.
    staleTime: 0,
    gcTime: 0,
    queryFn: () =>
      getJson<FullLink>(`${getBasePath(scope)}/v1/links/${link?.id}`, {
        query: { include: "settings" },
      }),
  });
  return (
    <Dialog title={link === undefined ? "New link" : "Edit link"} onClose={onClose} wide>
      {link === undefined ? (
        <LinkForm onClose={onClose} />
      ) : (
        <QueryBoundary query={current} label="the link" lines={6}>
          {(data) => <LinkForm link={data} onClose={onClose} />}
        </QueryBoundary>
      )}
    </Dialog>
  );
}

type LinkFormProps = { link?: FullLink; onClose: () => void };

function LinkForm({ link, onClose }: LinkFormProps) {
  const { scope } = useAccountContext();
  const initial = toFormValues(link);
  const form = useForm<LinkValues>({
    mode: "onChange",
    defaultValues: initial,
    resolver(values) {
      const messages = validateLink(values, Date.now(), link === undefined ? undefined : initial);
      const errors = Object.fromEntries(
        Object.entries(messages).map(([name, message]) => [name, { type: "rule", message }]),
      );
      return Object.keys(errors).length === 0 ? { values, errors: {} } : { values: {}, errors };
    },
  });
  const save = useApiMutation(
    async (values: LinkValues) => {
      const { links } = getClient(scope);
      if (link === undefined) return await links.create(toRequestBody(values));
      return await links.update(link.id, getChanges(initial, values));
    },
    {
      invalidate: [
        ["links", scope],
        ["link", scope],
      ],
      successMessage: ({ short_url }) =>
        link === undefined ? `${short_url} is ready.` : "The link has been updated.",
      onSuccess: onClose,
    },
  );
  const param = save.error instanceof ShorthopError ? save.error.param : undefined;
  const field = param === undefined ? undefined : fieldOf(param, initial);
  useEffect(() => {
    if (field === undefined) return;
    form.setError(field, { message: getErrorMessage(save.error) }, { shouldFocus: true });
  }, [form, field, save.error]);
  return (
    <DialogForm
      action={link === undefined ? "Create link" : "Save"}
      onSubmit={(event) => void form.handleSubmit((values) => save.mutate(values))(event)}
      onCancel={onClose}
      loading={save.isPending}
      error={field === undefined ? save.error : null}
    >
      <MainFields form={form} isNew={link === undefined} />
      <OptionalFields form={form} link={link} />
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
        error={errors.url?.message}
        {...register("url")}
      />
      <div className="columns">
        {isNew && <DomainField form={form} />}
        <TextField
          label="Alias"
          hint={isNew ? "Leave empty to generate one." : "The old alias stops working."}
          autoCapitalize="none"
          spellCheck={false}
          error={errors.alias?.message}
          {...register("alias")}
        />
      </div>
      <TextField label="Title" error={errors.title?.message} {...register("title")} />
      <TextField
        label="Tags"
        hint="Separated by commas."
        error={errors.tags?.message}
        {...register("tags")}
      />
    </>
  );
}

function DomainField({ form }: FieldsProps) {
  const { scope, session } = useAccountContext();
  const domains = useQuery({
    queryKey: ["domains", scope],
    queryFn: () => Array.fromAsync(getClient(scope).domains.all()),
  });
  const verified = (domains.data ?? []).filter(({ status }) => status === "verified");
  return (
    <SelectField
      label="Domain"
      options={[
        { value: "", label: new URL(session.short_url).host },
        ...verified.map(({ domain }) => ({ value: domain, label: domain })),
      ]}
      {...form.register("domain")}
    />
  );
}

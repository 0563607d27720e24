/** Dialogs that create webhooks, rotate their secrets and delete them. */
import { useForm, useWatch } from "react-hook-form";

import type { Webhook } from "../../../../clients/typescript/src/index.ts";
import {
  ALL_EVENTS,
  EVENT_TYPE_NAMES,
  newWebhookBody,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from "../../../../shared/contracts/webhook-schemas.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { strong } from "../../languages/tags.tsx";
import { rich, t } from "../../languages/translate.ts";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { ListField } from "../../ui/list-field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Secret, SecretDialog } from "../../ui/secret-dialog.tsx";
import { validateWith } from "../../ui/validation.ts";

type DialogProps = { webhook: Webhook; onClose: () => void };

/** `events` is separated by spaces or commas; empty for all. */
type Values = { url: string; events: string; format: WebhookFormat; description: string };

const readEvents = (text: string): string[] => {
  const types = text.split(/[\s,]+/).filter((type) => type !== "");
  return types.length === 0 ? [ALL_EVENTS] : types;
};

const { url: urlSchema, events: eventsSchema, description } = newWebhookBody.shape;

/** Names what is no type: the types themselves are offered while one types. */
function validateEvents(text: string): true | string {
  const known = new Set<string>([ALL_EVENTS, ...EVENT_TYPE_NAMES]);
  const unknown = readEvents(text).filter((type) => !known.has(type));
  return unknown.length > 0
    ? t("webhooks.unknownEvents", { types: unknown.join(", ") })
    : validateWith(eventsSchema)(readEvents(text));
}

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: { url: "", events: "", format: "standard", description: "" },
  });
  const { errors } = form.formState;
  const events = useWatch({ control: form.control, name: "events" });
  const create = useApiMutation(
    (values: Values) =>
      getClient(scope).webhooks.create({
        url: values.url,
        events: eventsSchema.parse(readEvents(values.events)),
        format: values.format,
        description: values.description === "" ? null : values.description,
      }),
    { invalidate: [["webhooks", scope]] },
  );
  if (create.data !== undefined) return <NewSecret value={create.data.secret} onClose={onClose} />;
  return (
    <Dialog title={t("webhooks.new")} onClose={onClose}>
      <DialogForm
        action={t("webhooks.create")}
        onSubmit={(event) => void form.handleSubmit((values) => create.mutate(values))(event)}
        onCancel={onClose}
        loading={create.isPending}
        error={create.error}
      >
        <TextField
          label={t("webhooks.url")}
          type="url"
          placeholder="https://hooks.example.com/shorthop"
          error={errors.url?.message}
          {...form.register("url", {
            required: t("ui.required"),
            validate: validateWith(urlSchema),
          })}
        />
        <ListField
          label={t("webhooks.events")}
          text={events}
          options={EVENT_TYPE_NAMES.map((name) => ({ name }))}
          hint={t("webhooks.eventsHint")}
          error={errors.events?.message}
          {...form.register("events", {
            validate: validateEvents,
          })}
        />
        <SelectField
          label={t("webhooks.format")}
          options={WEBHOOK_FORMATS.map((value) => ({
            value,
            label: t(`webhooks.formats.${value}`),
          }))}
          {...form.register("format")}
        />
        <TextField
          label={t("webhooks.description")}
          error={errors.description?.message}
          {...form.register("description", { validate: validateWith(description) })}
        />
      </DialogForm>
    </Dialog>
  );
}

const NewSecret = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <SecretDialog
    title={t("webhooks.secretTitle")}
    warning={t("webhooks.secretWarning")}
    done={t("ui.saved")}
    onClose={onClose}
  >
    <Secret text={value} copyLabel={t("webhooks.copySecret")} testId="webhook-secret" />
  </SecretDialog>
);

export function RotateDialog({ webhook, onClose }: DialogProps) {
  const { scope } = useAccountContext();
  const rotate = useApiMutation(() => getClient(scope).webhooks.rotate(webhook.id), {
    invalidate: [["webhooks", scope]],
  });
  if (rotate.data !== undefined) return <NewSecret value={rotate.data.secret} onClose={onClose} />;
  return (
    <Dialog title={t("webhooks.rotate")} onClose={onClose}>
      <DialogForm
        action={t("webhooks.rotate")}
        onSubmit={() => rotate.mutate()}
        onCancel={onClose}
        loading={rotate.isPending}
        error={rotate.error}
      >
        <p>{rich("webhooks.rotateText", { url: webhook.url, strong })}</p>
      </DialogForm>
    </Dialog>
  );
}

export function DeleteDialog({ webhook, onClose }: DialogProps) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).webhooks.delete(webhook.id), {
    invalidate: [["webhooks", scope]],
    successMessage: t("webhooks.deleted"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("webhooks.deleteTitle")}
      action={t("webhooks.delete")}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>{rich("webhooks.deleteText", { url: webhook.url, strong })}</p>
    </ConfirmDialog>
  );
}

/**
 * Webhooks of the account and mode: creates, pauses, tests and deletes them, and rotates secrets.
 */
import { useQuery } from "@tanstack/react-query";
import { Pause, Play, Plus, RotateCw, Send, Trash2 } from "lucide-react";
import { useForm, useWatch } from "react-hook-form";
import { Link } from "wouter";

import type { Webhook } from "../../../../clients/typescript/src/index.ts";
import {
  ALL_EVENTS,
  EVENT_TYPE_NAMES,
  newWebhookBody,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from "../../../../shared/contracts/webhook-schemas.ts";
import { readWords } from "../../data/complete-list.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, FormDialog, Secret, SecretDialog, useDialog } from "../../ui/dialog.tsx";
import { formField, ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, ErrorAlert, QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";

export function WebhooksPage() {
  const { scope, account } = useAccountContext();
  const { open, dialog } = useDialog();
  const isOwner = account.role === "owner";
  const webhooks = useQuery({
    queryKey: ["webhooks", scope],
    enabled: account.role !== "viewer",
    queryFn: () => Array.fromAsync(getClient(scope).webhooks.all()),
  });
  if (account.role === "viewer") return <Empty title={t("webhooks.notForViewers")} />;
  return (
    <Page
      title={t("shell.pages.webhooks")}
      intro={t("webhooks.intro")}
      actions={
        isOwner && (
          <Button
            variant="primary"
            onClick={() => open((close) => <CreateDialog onClose={close} />)}
          >
            <Plus aria-hidden /> {t("webhooks.new")}
          </Button>
        )
      }
    >
      <Card>
        <QueryList
          query={webhooks}
          label={t("shell.pages.webhooks")}
          empty={{ title: t("webhooks.empty"), hint: t("webhooks.emptyHint") }}
        >
          {(rows) => <WebhookTable webhooks={rows} canChange={isOwner} />}
        </QueryList>
      </Card>
      {dialog}
    </Page>
  );
}

type WebhookTableProps = { webhooks: readonly Webhook[]; canChange: boolean };

const WebhookTable = ({ webhooks, canChange }: WebhookTableProps) => (
  <RowTable
    label={t("shell.pages.webhooks")}
    rows={webhooks}
    keyOf={({ id }) => id}
    columns={[
      {
        name: t("webhooks.url"),
        cell: ({ id, url, description }) => (
          <>
            <Link href={`/webhooks/${id}`}>{url}</Link>
            {description !== null && <div className="hint">{description}</div>}
          </>
        ),
      },
      { name: t("webhooks.events"), isNamed: true, className: "scopes", cell: formatEvents },
      {
        name: t("webhooks.statusHead"),
        isNamed: true,
        cell: (webhook) => <WebhookStatus webhook={webhook} />,
      },
    ]}
    actions={canChange ? (webhook) => <WebhookActions webhook={webhook} /> : undefined}
  />
);

const formatEvents = ({ events }: Webhook): string =>
  events.includes("*") ? t("webhooks.allEvents") : events.join(", ");

const BADGES: Readonly<Record<Webhook["status"], string>> = {
  active: "badge-good",
  paused: "",
  disabled: "badge-bad",
};

export const WebhookStatus = ({ webhook }: { webhook: Webhook }) => (
  <>
    <span className={`badge ${BADGES[webhook.status]}`}>
      {t(`webhooks.status.${webhook.status}`)}
    </span>
    {webhook.disabled_reason !== null && (
      <div className="hint">{t(`webhooks.reason.${webhook.disabled_reason}`)}</div>
    )}
    {webhook.status === "active" && webhook.failing_since !== null && (
      <div className="hint">
        {t("webhooks.failingSince", { time: formatDateTime(webhook.failing_since) })}
      </div>
    )}
  </>
);

function WebhookActions({ webhook }: { webhook: Webhook }) {
  const { open, dialog } = useDialog();
  const { scope } = useAccountContext();
  const invalidate = [
    ["webhooks", scope],
    ["deliveries", scope, webhook.id],
  ];
  const isActive = webhook.status === "active";
  const change = useApiMutation(
    () => getClient(scope).webhooks.update(webhook.id, { status: isActive ? "paused" : "active" }),
    { invalidate },
  );
  const test = useApiMutation(() => getClient(scope).webhooks.test(webhook.id), {
    invalidate,
    successMessage: t("webhooks.tested"),
  });
  return (
    <>
      <ErrorAlert error={change.error ?? test.error} />
      <ActionMenu
        label={t("webhooks.actions", { url: webhook.url })}
        actions={[
          ...(isActive
            ? [
                {
                  label: t("webhooks.test"),
                  icon: <Send aria-hidden />,
                  onSelect: () => test.mutate(),
                },
              ]
            : []),
          {
            label: isActive ? t("webhooks.pause") : t("webhooks.resume"),
            icon: isActive ? <Pause aria-hidden /> : <Play aria-hidden />,
            onSelect: () => change.mutate(),
          },
          {
            label: t("webhooks.rotate"),
            icon: <RotateCw aria-hidden />,
            onSelect: () => open((close) => <RotateDialog webhook={webhook} onClose={close} />),
          },
          {
            label: t("webhooks.delete"),
            icon: <Trash2 aria-hidden />,
            danger: true,
            onSelect: () => open((close) => <DeleteDialog webhook={webhook} onClose={close} />),
          },
        ]}
      />
      {dialog}
    </>
  );
}

type DialogProps = { webhook: Webhook; onClose: () => void };

/** `events` is separated by spaces or commas; empty for all. */
type Values = { url: string; events: string; format: WebhookFormat; description: string };

const readEvents = (text: string): string[] => {
  const types = readWords(text);
  return types.length === 0 ? [ALL_EVENTS] : types;
};

const { url: urlSchema, events: eventsSchema, description } = newWebhookBody.shape;

/** Names the words that are no event type; the field offers the types. */
function validateEvents(text: string): true | string {
  const known = new Set<string>([ALL_EVENTS, ...EVENT_TYPE_NAMES]);
  const unknown = readEvents(text).filter((type) => !known.has(type));
  return unknown.length > 0
    ? t("webhooks.unknownEvents", { types: unknown.join(", ") })
    : validateWith(eventsSchema)(readEvents(text));
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: { url: "", events: "", format: "standard", description: "" },
  });
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
    <FormDialog
      title={t("webhooks.new")}
      action={t("webhooks.create")}
      onSubmit={form.handleSubmit((values) => create.mutate(values))}
      onClose={onClose}
      task={create}
    >
      <TextField
        label={t("webhooks.url")}
        type="url"
        placeholder="https://hooks.example.com/shorthop"
        {...formField(form, "url", {
          required: t("ui.required"),
          validate: validateWith(urlSchema),
        })}
      />
      <ListField
        label={t("webhooks.events")}
        text={events}
        options={EVENT_TYPE_NAMES.map((name) => ({ name }))}
        hint={t("webhooks.eventsHint")}
        {...formField(form, "events", {
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
        {...formField(form, "description", { validate: validateWith(description) })}
      />
    </FormDialog>
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

function RotateDialog({ webhook, onClose }: DialogProps) {
  const { scope } = useAccountContext();
  const rotate = useApiMutation(() => getClient(scope).webhooks.rotate(webhook.id), {
    invalidate: [["webhooks", scope]],
  });
  if (rotate.data !== undefined) return <NewSecret value={rotate.data.secret} onClose={onClose} />;
  return (
    <FormDialog
      title={t("webhooks.rotate")}
      action={t("webhooks.rotate")}
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
      task={rotate}
    >
      <p>{rich("webhooks.rotateText", { url: webhook.url, strong })}</p>
    </FormDialog>
  );
}

function DeleteDialog({ webhook, onClose }: DialogProps) {
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
      task={remove}
    >
      <p>{rich("webhooks.deleteText", { url: webhook.url, strong })}</p>
    </ConfirmDialog>
  );
}

/**
 * Webhooks of the account and mode: creates, pauses, tests and deletes them, and rotates secrets.
 * The page of one shows its deliveries, the attempts and the responses, and delivers events again.
 */
import { History, Pause, Play, Plus, RotateCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWatch } from "react-hook-form";
import { Link } from "wouter";

import type { Webhook, WebhookDelivery } from "../../../../clients/typescript/src/index.ts";
import {
  ALL_EVENTS,
  EVENT_TYPE_NAMES,
  newWebhookBody,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from "../../../../shared/contracts/webhook-schemas.ts";
import { readWords } from "../../data/complete-list.ts";
import { useAccountContext, useApiQuery, useClient } from "../../data/session.ts";
import { validateWith } from "../../languages/errors.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ActionDialog, FormDialog, SecretDialog } from "../../ui/dialog.tsx";
import { ChoiceField, ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formField, requiredBy, useFormAction } from "../../ui/form.ts";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, QueryList, useApiMutation } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";

export function WebhooksPage() {
  const { account } = useAccountContext();
  const isOwner = account.role === "owner";
  const isViewer = account.role === "viewer";
  const webhooks = useApiQuery(["webhooks"], (client) => Array.fromAsync(client.webhooks.all()), {
    enabled: !isViewer,
  });
  if (isViewer) return <Empty title={t("webhooks.notForViewers")} />;
  return (
    <Page
      title={t("shell.pages.webhooks")}
      intro={t("webhooks.intro")}
      actions={
        isOwner && (
          <Button variant="primary" opens={(close) => <CreateDialog onClose={close} />}>
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
      { name: t("fields.events"), isNamed: true, className: "scopes", cell: formatEvents },
      {
        name: t("fields.status"),
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

const WebhookStatus = ({ webhook }: { webhook: Webhook }) => (
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
  const client = useClient();
  const invalidate = ["webhooks", "deliveries"];
  const isActive = webhook.status === "active";
  const change = useApiMutation(
    () => client.webhooks.update(webhook.id, { status: isActive ? "paused" : "active" }),
    { invalidate },
  );
  const test = useApiMutation(() => client.webhooks.test(webhook.id), {
    invalidate,
    successMessage: t("webhooks.tested"),
  });
  return (
    <ActionMenu
      label={t("webhooks.actions", { url: webhook.url })}
      actions={[
        ...(isActive
          ? [{ label: "webhooks.test", icon: Send, onSelect: () => test.mutateAsync() } as const]
          : []),
        {
          label: isActive ? "ui.pause" : "ui.resume",
          icon: isActive ? Pause : Play,
          onSelect: () => change.mutateAsync(),
        },
        {
          label: "webhooks.rotate",
          icon: RotateCw,
          opens: (close) => <RotateDialog webhook={webhook} onClose={close} />,
        },
        {
          label: "ui.delete",
          icon: Trash2,
          danger: true,
          opens: (close) => <DeleteDialog webhook={webhook} onClose={close} />,
        },
      ]}
    />
  );
}

type DialogProps = { webhook: Webhook; onClose: () => void };

/** `events` is a text of several; empty for all. */
type Values = { url: string; events: string; format: WebhookFormat; description: string };

const newValues: Values = { url: "", events: "", format: "standard", description: "" };

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
  const client = useClient();
  const {
    form,
    props,
    action: create,
  } = useFormAction(
    newValues,
    (values) =>
      client.webhooks.create({
        url: values.url,
        events: eventsSchema.parse(readEvents(values.events)),
        format: values.format,
        description: values.description === "" ? null : values.description,
      }),
    { invalidate: ["webhooks"] },
  );
  const events = useWatch({ control: form.control, name: "events" });
  if (create.data !== undefined) return <NewSecret value={create.data.secret} onClose={onClose} />;
  return (
    <FormDialog
      title={t("webhooks.new")}
      action={t("webhooks.create")}
      onClose={onClose}
      {...props}
    >
      <TextField
        label={t("webhooks.url")}
        type="url"
        placeholder="https://hooks.example.com/shorthop"
        {...formField(form, "url", requiredBy(urlSchema))}
      />
      <ListField
        label={t("fields.events")}
        text={events}
        options={EVENT_TYPE_NAMES.map((name) => ({ name }))}
        hint={t("webhooks.eventsHint")}
        {...formField(form, "events", validateEvents)}
      />
      <SelectField
        label={t("webhooks.format")}
        options={WEBHOOK_FORMATS.map((value) => ({
          value,
          label: t(`webhooks.formats.${value}`),
        }))}
        {...formField(form, "format")}
      />
      <TextField label={t("fields.description")} {...formField(form, "description", description)} />
    </FormDialog>
  );
}

const NewSecret = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <SecretDialog
    title={t("webhooks.secretTitle")}
    warning={t("webhooks.secretWarning")}
    done={t("ui.saved")}
    onClose={onClose}
    text={value}
    copyLabel={t("webhooks.copySecret")}
    testId="webhook-secret"
  />
);

function RotateDialog({ webhook, onClose }: DialogProps) {
  const client = useClient();
  const rotate = useApiMutation(() => client.webhooks.rotate(webhook.id), {
    invalidate: ["webhooks"],
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

const DeleteDialog = ({ webhook, onClose }: DialogProps) => (
  <ActionDialog
    title={t("webhooks.deleteTitle")}
    action={t("ui.delete")}
    run={(client) => client.webhooks.delete(webhook.id)}
    invalidate={["webhooks"]}
    successMessage={t("webhooks.deleted")}
    onClose={onClose}
  >
    <p>{rich("webhooks.deleteText", { url: webhook.url, strong })}</p>
  </ActionDialog>
);

/** The newest deliveries that are shown. */
const SHOWN_MAX = 100;

/** Deliveries that wait are made while somebody looks. */
const REFRESH_MS = 5_000;

type DeliveryStatus = WebhookDelivery["status"];

const DELIVERY_STATUSES: readonly DeliveryStatus[] = ["pending", "delivered", "failed"];

const DELIVERY_BADGES: Readonly<Record<DeliveryStatus, string>> = {
  pending: "",
  delivered: "badge-good",
  failed: "badge-bad",
};

export function DeliveriesPage({ id }: { id: string }) {
  const { account } = useAccountContext();
  const [status, setStatus] = useState<DeliveryStatus>();
  const webhook = useApiQuery(["webhooks", id], (client) => client.webhooks.get(id));
  const query = { limit: SHOWN_MAX, ...(status === undefined ? {} : { status }) };
  const deliveries = useApiQuery(
    ["deliveries", id, status],
    (client) => Array.fromAsync(client.webhooks.deliveries(id, query)),
    { refetchInterval: REFRESH_MS },
  );
  return (
    <Page title={t("webhooks.deliveries")} intro={webhook.data?.url ?? ""}>
      {webhook.data !== undefined && (
        <div>
          <WebhookStatus webhook={webhook.data} />
        </div>
      )}
      <ChoiceField
        label={t("fields.status")}
        options={[
          { value: undefined, label: t("webhooks.anyStatus") },
          ...DELIVERY_STATUSES.map((value) => ({ value, label: t(`webhooks.delivery.${value}`) })),
        ]}
        value={status}
        onChoose={setStatus}
      />
      <Card>
        <QueryList
          query={deliveries}
          label={t("webhooks.deliveries")}
          empty={{ title: t("webhooks.noDeliveries"), hint: t("webhooks.noDeliveriesHint") }}
        >
          {(rows) => (
            <DeliveryTable webhookId={id} deliveries={rows} canChange={account.role === "owner"} />
          )}
        </QueryList>
      </Card>
    </Page>
  );
}

type DeliveryTableProps = {
  webhookId: string;
  deliveries: readonly WebhookDelivery[];
  canChange: boolean;
};

const DeliveryTable = ({ webhookId, deliveries, canChange }: DeliveryTableProps) => (
  <RowTable
    label={t("webhooks.deliveries")}
    rows={deliveries}
    keyOf={({ id }) => id}
    columns={[
      {
        name: t("webhooks.event"),
        cell: ({ event_type, event_id }) => (
          <>
            {event_type}
            <div className="hint">
              <code>{event_id}</code>
            </div>
          </>
        ),
      },
      {
        name: t("fields.status"),
        isNamed: true,
        cell: ({ status, attempts }) => (
          <>
            <span className={`badge ${DELIVERY_BADGES[status]}`}>
              {t(`webhooks.delivery.${status}`)}
            </span>
            <div className="hint">{t("webhooks.attempts", { count: attempts })}</div>
          </>
        ),
      },
      {
        name: t("webhooks.lastAttempt"),
        isNamed: true,
        cell: ({ last_attempt_at, next_attempt_at }) => (
          <>
            {last_attempt_at === null ? "–" : formatDateTime(last_attempt_at)}
            {next_attempt_at !== null && (
              <div className="hint">
                {t("webhooks.nextAttempt", { time: formatDateTime(next_attempt_at) })}
              </div>
            )}
          </>
        ),
      },
      {
        name: t("webhooks.response"),
        isNamed: true,
        cell: (delivery) => <DeliveryResponse delivery={delivery} />,
      },
    ]}
    actions={
      canChange
        ? (delivery) => <DeliveryActions webhookId={webhookId} delivery={delivery} />
        : undefined
    }
  />
);

function DeliveryResponse({ delivery }: { delivery: WebhookDelivery }) {
  const { response_status, response_body, latency_ms, error_code, error } = delivery;
  if (error_code !== null) {
    return <span title={error ?? ""}>{t(`webhooks.errors.${error_code}`)}</span>;
  }
  if (response_status === null) return <>–</>;
  const summary = t("webhooks.responseIn", {
    status: String(response_status),
    ms: latency_ms ?? 0,
  });
  if (response_body === null || response_body === "") return <>{summary}</>;
  return (
    <details>
      <summary>{summary}</summary>
      <pre>{response_body}</pre>
    </details>
  );
}

type DeliveryActionsProps = { webhookId: string; delivery: WebhookDelivery };

function DeliveryActions({ webhookId, delivery }: DeliveryActionsProps) {
  const client = useClient();
  const retry = useApiMutation(() => client.webhooks.retry(webhookId, delivery.id), {
    invalidate: ["deliveries"],
    successMessage: t("webhooks.retried"),
  });
  return (
    <ActionMenu
      label={t("webhooks.deliveryActions", { event: delivery.event_id })}
      actions={[
        { label: "webhooks.retry", icon: RotateCw, onSelect: () => retry.mutateAsync() },
        {
          label: "webhooks.replay",
          icon: History,
          opens: (close) => (
            <ReplayDialog webhookId={webhookId} event={delivery.event_id} onClose={close} />
          ),
        },
      ]}
    />
  );
}

type ReplayDialogProps = { webhookId: string; event: string; onClose: () => void };

const ReplayDialog = ({ webhookId, event, onClose }: ReplayDialogProps) => (
  <ActionDialog
    title={t("webhooks.replay")}
    action={t("webhooks.replay")}
    run={(client) => client.webhooks.replay(webhookId, { starting_after: event })}
    invalidate={["deliveries"]}
    successMessage={t("webhooks.replayed")}
    onClose={onClose}
  >
    <p>{rich("webhooks.replayText", { event, strong })}</p>
  </ActionDialog>
);

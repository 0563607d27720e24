/** Shows the deliveries of a webhook, the attempts and the responses, and delivers events again. */
import { useQuery } from "@tanstack/react-query";
import { History, RotateCw } from "lucide-react";
import { useState } from "react";

import type { WebhookDelivery } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { ConfirmDialog, useDialog } from "../../ui/dialog.tsx";
import { ChoiceField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { ErrorAlert, QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { WebhookStatus } from "./webhooks-page.tsx";

/** The newest deliveries that are shown. */
const SHOWN_MAX = 100;

/** Deliveries that wait are made while somebody looks. */
const REFRESH_MS = 5_000;

type Status = WebhookDelivery["status"];

const STATUSES: readonly Status[] = ["pending", "delivered", "failed"];

const BADGES: Readonly<Record<Status, string>> = {
  pending: "",
  delivered: "badge-good",
  failed: "badge-bad",
};

export function DeliveriesPage({ id }: { id: string }) {
  const { scope, account } = useAccountContext();
  const [status, setStatus] = useState<Status>();
  const webhook = useQuery({
    queryKey: ["webhooks", scope, id],
    queryFn: () => getClient(scope).webhooks.get(id),
  });
  const deliveries = useQuery({
    queryKey: ["deliveries", scope, id, status],
    refetchInterval: REFRESH_MS,
    queryFn: () => {
      const query = { limit: SHOWN_MAX, ...(status === undefined ? {} : { status }) };
      return Array.fromAsync(getClient(scope).webhooks.deliveries(id, query));
    },
  });
  return (
    <Page title={t("webhooks.deliveries")} intro={webhook.data?.url ?? ""}>
      {webhook.data !== undefined && (
        <div>
          <WebhookStatus webhook={webhook.data} />
        </div>
      )}
      <ChoiceField
        label={t("webhooks.statusHead")}
        options={[
          { value: undefined, label: t("webhooks.anyStatus") },
          ...STATUSES.map((value) => ({ value, label: t(`webhooks.delivery.${value}`) })),
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
        name: t("webhooks.statusHead"),
        isNamed: true,
        cell: ({ status, attempts }) => (
          <>
            <span className={`badge ${BADGES[status]}`}>{t(`webhooks.delivery.${status}`)}</span>
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
  const { open, dialog } = useDialog();
  const { scope } = useAccountContext();
  const retry = useApiMutation(() => getClient(scope).webhooks.retry(webhookId, delivery.id), {
    invalidate: [["deliveries", scope, webhookId]],
    successMessage: t("webhooks.retried"),
  });
  return (
    <>
      <ErrorAlert error={retry.error} />
      <ActionMenu
        label={t("webhooks.deliveryActions", { event: delivery.event_id })}
        actions={[
          {
            label: t("webhooks.retry"),
            icon: <RotateCw aria-hidden />,
            onSelect: () => retry.mutate(),
          },
          {
            label: t("webhooks.replay"),
            icon: <History aria-hidden />,
            onSelect: () =>
              open((close) => (
                <ReplayDialog webhookId={webhookId} delivery={delivery} onClose={close} />
              )),
          },
        ]}
      />
      {dialog}
    </>
  );
}

function ReplayDialog({
  webhookId,
  delivery,
  onClose,
}: DeliveryActionsProps & { onClose: () => void }) {
  const { scope } = useAccountContext();
  const replay = useApiMutation(
    () => getClient(scope).webhooks.replay(webhookId, { starting_after: delivery.event_id }),
    {
      invalidate: [["deliveries", scope, webhookId]],
      successMessage: t("webhooks.replayed"),
      onSuccess: onClose,
    },
  );
  return (
    <ConfirmDialog
      title={t("webhooks.replay")}
      action={t("webhooks.replay")}
      onClose={onClose}
      task={replay}
    >
      <p>{rich("webhooks.replayText", { event: delivery.event_id, strong })}</p>
    </ConfirmDialog>
  );
}

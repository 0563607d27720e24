/** The deliveries of a webhook: what was attempted, and what came of it. */
import { useQuery } from "@tanstack/react-query";
import { History, RotateCw } from "lucide-react";
import { useState } from "react";

import type { WebhookDelivery } from "../../../../clients/typescript/src/index.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { actionsColumn, Table } from "../../ui/table.tsx";
import { WebhookStatus } from "./webhooks-page.tsx";

/** The newest deliveries that are shown. */
const SHOWN_MAX = 100;

/** What waits is delivered while one looks. */
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
  const [replayed, setReplayed] = useState<WebhookDelivery>();
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
      <SelectField
        label={t("webhooks.statusHead")}
        options={[
          { value: "", label: t("webhooks.anyStatus") },
          ...STATUSES.map((value) => ({ value, label: t(`webhooks.delivery.${value}`) })),
        ]}
        value={status ?? ""}
        onChange={({ target }) => setStatus(STATUSES.find((value) => value === target.value))}
      />
      <Card>
        <QueryBoundary query={deliveries} label={t("webhooks.deliveries")}>
          {(data) =>
            data.length === 0 ? (
              <Empty title={t("webhooks.noDeliveries")}>
                <p>{t("webhooks.noDeliveriesHint")}</p>
              </Empty>
            ) : (
              <DeliveryTable
                webhookId={id}
                deliveries={data}
                onReplay={account.role === "owner" ? setReplayed : undefined}
              />
            )
          }
        </QueryBoundary>
      </Card>
      {replayed !== undefined && (
        <ReplayDialog webhookId={id} delivery={replayed} onClose={() => setReplayed(undefined)} />
      )}
    </Page>
  );
}

type DeliveryTableProps = {
  webhookId: string;
  deliveries: readonly WebhookDelivery[];
  /** Undefined for users who may not change webhooks. */
  onReplay: ((delivery: WebhookDelivery) => void) | undefined;
};

const DeliveryTable = ({ webhookId, deliveries, onReplay }: DeliveryTableProps) => (
  <Table
    className="stacked"
    label={t("webhooks.deliveries")}
    head={[
      t("webhooks.event"),
      t("webhooks.statusHead"),
      t("webhooks.lastAttempt"),
      t("webhooks.response"),
      ...(onReplay === undefined ? [] : [actionsColumn()]),
    ]}
  >
    {deliveries.map((delivery) => (
      <tr key={delivery.id}>
        <td>
          {delivery.event_type}
          <div className="hint">
            <code>{delivery.event_id}</code>
          </div>
        </td>
        <td data-label={t("webhooks.statusHead")}>
          <span className={`badge ${BADGES[delivery.status]}`}>
            {t(`webhooks.delivery.${delivery.status}`)}
          </span>
          <div className="hint">{t("webhooks.attempts", { count: delivery.attempts })}</div>
        </td>
        <td data-label={t("webhooks.lastAttempt")}>
          {delivery.last_attempt_at === null ? "–" : formatDateTime(delivery.last_attempt_at)}
          {delivery.next_attempt_at !== null && (
            <div className="hint">
              {t("webhooks.nextAttempt", { time: formatDateTime(delivery.next_attempt_at) })}
            </div>
          )}
        </td>
        <td data-label={t("webhooks.response")}>
          <DeliveryResponse delivery={delivery} />
        </td>
        {onReplay !== undefined && (
          <td className="row-actions">
            <DeliveryActions webhookId={webhookId} delivery={delivery} onReplay={onReplay} />
          </td>
        )}
      </tr>
    ))}
  </Table>
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

function DeliveryActions({
  webhookId,
  delivery,
  onReplay,
}: {
  webhookId: string;
  delivery: WebhookDelivery;
  onReplay: (delivery: WebhookDelivery) => void;
}) {
  const { scope } = useAccountContext();
  const retry = useApiMutation(() => getClient(scope).webhooks.retry(webhookId, delivery.id), {
    invalidate: [["deliveries", scope, webhookId]],
    successMessage: t("webhooks.retried"),
  });
  return (
    <>
      {retry.error !== null && <Alert>{getErrorMessage(retry.error)}</Alert>}
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
            onSelect: () => onReplay(delivery),
          },
        ]}
      />
    </>
  );
}

type ReplayDialogProps = { webhookId: string; delivery: WebhookDelivery; onClose: () => void };

function ReplayDialog({ webhookId, delivery, onClose }: ReplayDialogProps) {
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
      onConfirm={() => replay.mutate()}
      loading={replay.isPending}
      error={replay.error}
    >
      <p>{rich("webhooks.replayText", { event: delivery.event_id, strong })}</p>
    </ConfirmDialog>
  );
}

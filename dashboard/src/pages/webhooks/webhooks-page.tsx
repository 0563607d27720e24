/** Webhooks of the account and mode. */
import { useQuery } from "@tanstack/react-query";
import { Pause, Play, Plus, RotateCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";

import type { Webhook } from "../../../../clients/typescript/src/index.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { actionsColumn, Table } from "../../ui/table.tsx";
import { CreateDialog, DeleteDialog, RotateDialog } from "./webhook-dialogs.tsx";

/** The open dialog, with its webhook. */
type OpenDialog = { kind: "create" } | { kind: "rotate" | "delete"; webhook: Webhook };

export function WebhooksPage() {
  const { scope, account } = useAccountContext();
  const [dialog, setDialog] = useState<OpenDialog>();
  const isOwner = account.role === "owner";
  const webhooks = useQuery({
    queryKey: ["webhooks", scope],
    enabled: account.role !== "viewer",
    queryFn: () => Array.fromAsync(getClient(scope).webhooks.all()),
  });
  if (account.role === "viewer") return <Empty title={t("webhooks.notForViewers")} />;
  const close = () => setDialog(undefined);
  return (
    <Page
      title={t("shell.pages.webhooks")}
      intro={t("webhooks.intro")}
      actions={
        isOwner && (
          <Button variant="primary" onClick={() => setDialog({ kind: "create" })}>
            <Plus aria-hidden /> {t("webhooks.new")}
          </Button>
        )
      }
    >
      <Card>
        <QueryBoundary query={webhooks} label={t("shell.pages.webhooks")}>
          {(data) =>
            data.length === 0 ? (
              <Empty title={t("webhooks.empty")}>
                <p>{t("webhooks.emptyHint")}</p>
              </Empty>
            ) : (
              <WebhookTable webhooks={data} canChange={isOwner} onOpen={setDialog} />
            )
          }
        </QueryBoundary>
      </Card>
      {dialog?.kind === "create" && <CreateDialog onClose={close} />}
      {dialog?.kind === "rotate" && <RotateDialog webhook={dialog.webhook} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteDialog webhook={dialog.webhook} onClose={close} />}
    </Page>
  );
}

type WebhookTableProps = {
  webhooks: readonly Webhook[];
  canChange: boolean;
  onOpen: (dialog: OpenDialog) => void;
};

const WebhookTable = ({ webhooks, canChange, onOpen }: WebhookTableProps) => (
  <Table
    className="stacked"
    label={t("shell.pages.webhooks")}
    head={[
      t("webhooks.url"),
      t("webhooks.events"),
      t("webhooks.statusHead"),
      ...(canChange ? [actionsColumn()] : []),
    ]}
  >
    {webhooks.map((webhook) => (
      <tr key={webhook.id}>
        <td>
          <Link href={`/webhooks/${webhook.id}`}>{webhook.url}</Link>
          {webhook.description !== null && <div className="hint">{webhook.description}</div>}
        </td>
        <td className="scopes" data-label={t("webhooks.events")}>
          {formatEvents(webhook)}
        </td>
        <td data-label={t("webhooks.statusHead")}>
          <WebhookStatus webhook={webhook} />
        </td>
        {canChange && (
          <td className="row-actions">
            <WebhookActions webhook={webhook} onOpen={onOpen} />
          </td>
        )}
      </tr>
    ))}
  </Table>
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

function WebhookActions({
  webhook,
  onOpen,
}: Pick<WebhookTableProps, "onOpen"> & { webhook: Webhook }) {
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
  const problem = change.error ?? test.error;
  return (
    <>
      {problem !== null && <Alert>{getErrorMessage(problem)}</Alert>}
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
            onSelect: () => onOpen({ kind: "rotate", webhook }),
          },
          {
            label: t("webhooks.delete"),
            icon: <Trash2 aria-hidden />,
            danger: true,
            onSelect: () => onOpen({ kind: "delete", webhook }),
          },
        ]}
      />
    </>
  );
}

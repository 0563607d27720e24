/**
 * Webhooks of the account and mode: creates, pauses, tests and deletes them, and rotates secrets.
 */
import { useQuery } from "@tanstack/react-query";
import { Pause, Play, Plus, RotateCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
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
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm, Secret, SecretDialog } from "../../ui/dialog.tsx";
import { ListField, SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { actionsColumn, Table } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";

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

/** Dialogs that create webhooks, rotate their secrets and delete them. */
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

function CreateDialog({ onClose }: { onClose: () => void }) {
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

function RotateDialog({ webhook, onClose }: DialogProps) {
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
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>{rich("webhooks.deleteText", { url: webhook.url, strong })}</p>
    </ConfirmDialog>
  );
}

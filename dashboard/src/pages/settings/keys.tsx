/** API keys. The value of a new key is shown only once, in its dialog. */
import { Plus, RotateCw, Trash2 } from "lucide-react";
import type { ComponentProps } from "react";

import type { ApiKey } from "../../../../clients/typescript/src/index.ts";
import { newKeyBody, type Scope, SCOPES } from "../../../../shared/contracts/key-schemas.ts";
import { useKeysQuery, useMembersQuery } from "../../data/account-lists.ts";
import { readWords } from "../../data/complete-list.ts";
import { useAccountContext, useClient } from "../../data/session.ts";
import { validateWith } from "../../languages/errors.ts";
import { code, rich, strong, t } from "../../languages/translate.ts";
import { Button, useDialog } from "../../ui/button.tsx";
import { ActionDialog, FormDialog, SecretDialog } from "../../ui/dialog.tsx";
import { CheckGroup, SelectField, TextAreaField, TextField } from "../../ui/field.tsx";
import { formField, useFormAction } from "../../ui/form.ts";
import { formatDateTime } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";

export function KeysPage() {
  const { account, mode } = useAccountContext();
  const keys = useKeysQuery();
  if (account.role !== "owner") return <Empty title={t("settings.keys.forOwners")} />;
  return (
    <Page
      title={t("shell.pages.keys")}
      intro={mode === "live" ? t("settings.keys.introLive") : t("settings.keys.introTest")}
      actions={
        <Button variant="primary" opens={(close) => <CreateDialog onClose={close} />}>
          <Plus aria-hidden /> {t("settings.keys.new")}
        </Button>
      }
    >
      <Card>
        <QueryList
          query={keys}
          label={t("shell.pages.keys")}
          empty={{ title: t("settings.keys.empty"), hint: t("settings.keys.emptyHint") }}
        >
          {(rows) => <KeyTable keys={rows} />}
        </QueryList>
      </Card>
    </Page>
  );
}

/**
 * Returns the current status of a key. `expiring`: replaced by rotation, and within its grace
 * period.
 */
function getStatus({
  revoked_at,
  expires_at,
}: ApiKey): "active" | "revoked" | "expired" | "expiring" {
  const now = Date.now();
  if (revoked_at !== null) return Date.parse(revoked_at) > now ? "expiring" : "revoked";
  return expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "active";
}

const KeyTable = ({ keys }: { keys: readonly ApiKey[] }) => (
  <RowTable
    label={t("shell.pages.keys")}
    rows={keys}
    keyOf={({ id }) => id}
    columns={[
      {
        name: t("fields.name"),
        cell: (key) => (
          <>
            <strong>{key.name}</strong>
            <div className="hint">
              <Creation apiKey={key} />
            </div>
          </>
        ),
      },
      {
        name: t("settings.keys.key"),
        isNamed: true,
        cell: ({ prefix }) => <code>{prefix}…</code>,
      },
      {
        name: t("settings.keys.scopes"),
        isNamed: true,
        className: "scopes",
        cell: ({ scopes, allowed_networks }) => (
          <>
            {scopes.join(", ")}
            {allowed_networks.length > 0 && (
              <div>{t("settings.keys.onlyIn", { networks: allowed_networks.join(", ") })}</div>
            )}
          </>
        ),
      },
      {
        name: t("settings.keys.lastUsed"),
        isNamed: true,
        cell: ({ last_used_at, last_used_network }) => (
          <>
            {last_used_at === null ? t("ui.never") : formatDateTime(last_used_at)}
            {last_used_network !== null && <div className="hint">{last_used_network}</div>}
          </>
        ),
      },
      {
        name: t("fields.status"),
        isNamed: true,
        cell: (key) => (
          <span className={getStatus(key) === "active" ? "badge badge-good" : "badge badge-bad"}>
            {t(`settings.keys.status.${getStatus(key)}`)}
          </span>
        ),
      },
    ]}
    actions={(key) => <KeyActions apiKey={key} />}
  />
);

/** When a key was created, and by whom, if that is known. */
function Creation({ apiKey: { created_at, created_by } }: { apiKey: ApiKey }) {
  const { session } = useAccountContext();
  const { data } = useMembersQuery();
  const { type, id } = created_by;
  const time = formatDateTime(created_at);
  if (type === "api_key" || type === "operator") {
    return t(`settings.keys.createdBy.${type}`, { time });
  }
  if (id === session.user.id) return t("settings.keys.createdBy.you", { time });
  const name = data?.members.find(({ user_id }) => user_id === id)?.name;
  return name === undefined
    ? t("settings.keys.created", { time })
    : t("settings.keys.createdByMember", { time, name });
}

/** Keeps its dialog, which shows the new key, when a key has been rotated. */
function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const { open, dialog } = useDialog();
  return (
    <>
      {getStatus(apiKey) === "active" && (
        <ActionMenu
          label={t("settings.keys.actions", { name: apiKey.name })}
          actions={[
            {
              label: "settings.keys.rotate",
              icon: RotateCw,
              onSelect: () => open((close) => <RotateDialog apiKey={apiKey} onClose={close} />),
            },
            {
              label: "ui.revoke",
              icon: Trash2,
              danger: true,
              opens: (close) => <RevokeDialog apiKey={apiKey} onClose={close} />,
            },
          ]}
        />
      )}
      {dialog}
    </>
  );
}

const USUAL_SCOPES: Scope[] = ["links:read", "links:write"];

const NEW_KEY = {
  name: "",
  scopes: USUAL_SCOPES,
  allowed_networks: "",
  expires_at: "",
};

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { mode } = useAccountContext();
  const client = useClient();
  const { form, action, props } = useFormAction(
    NEW_KEY,
    ({ name, scopes, allowed_networks, expires_at }) =>
      client.keys.create({
        name: name.trim(),
        type: mode,
        scopes,
        allowed_networks: readWords(allowed_networks),
        expires_at: expires_at === "" ? null : toInstant(expires_at),
      }),
    { invalidate: ["keys"] },
  );
  if (action.data !== undefined) return <NewKey value={action.data.key} onClose={onClose} />;
  return (
    <FormDialog
      title={t("settings.keys.new")}
      action={t("settings.keys.createKey")}
      onClose={onClose}
      {...props}
    >
      <TextField
        label={t("fields.name")}
        hint={t("settings.keys.nameHint")}
        {...formField(form, "name", newKeyBody.shape.name)}
      />
      <p>{rich(`settings.keys.type.${mode}`, { strong })}</p>
      <CheckGroup
        label={t("settings.keys.scopes")}
        options={SCOPES.map((value) => ({ value, label: <code>{value}</code> }))}
        {...formField(form, "scopes", newKeyBody.shape.scopes)}
      />
      <NetworksField {...formField(form, "allowed_networks", validateNetworks)} />
      <TextField
        label={t("ui.expires")}
        type="datetime-local"
        hint={t("settings.keys.expiresHint")}
        {...formField(form, "expires_at")}
      />
    </FormDialog>
  );
}

const NetworksField = (field: Omit<ComponentProps<typeof TextAreaField>, "label">) => (
  <TextAreaField
    label={t("fields.allowed_networks")}
    hint={t("settings.keys.networksHint")}
    className="code"
    rows={2}
    spellCheck={false}
    {...field}
  />
);

const validateNetworks = (text: string): true | string =>
  validateWith(newKeyBody.shape.allowed_networks)(readWords(text));

const NewKey = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <SecretDialog
    title={t("settings.keys.newTitle")}
    warning={t("settings.keys.newWarning")}
    done={t("ui.saved")}
    onClose={onClose}
    text={value}
    copyLabel={t("settings.keys.copy")}
    testId="new-key"
  />
);

/** For how many seconds the old key works. */
const GRACE_PERIODS = ["0", "3600", "86400", "604800"] as const;

function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const client = useClient();
  const { form, action, props } = useFormAction(
    { grace_seconds: "86400", allowed_networks: apiKey.allowed_networks.join("\n") },
    ({ grace_seconds, allowed_networks }) =>
      client.keys.rotate(apiKey.id, {
        grace_seconds: Number(grace_seconds),
        allowed_networks: readWords(allowed_networks),
      }),
    { invalidate: ["keys"] },
  );
  if (action.data !== undefined) return <NewKey value={action.data.key} onClose={onClose} />;
  return (
    <FormDialog
      title={t("settings.keys.rotateTitle", { name: apiKey.name })}
      action={t("settings.keys.rotate")}
      onClose={onClose}
      {...props}
    >
      <p>{t("settings.keys.rotateText")}</p>
      <SelectField
        label={t("settings.keys.oldKey")}
        options={GRACE_PERIODS.map((value) => ({
          value,
          label: t(`settings.keys.grace.${value}`),
        }))}
        {...formField(form, "grace_seconds")}
      />
      <NetworksField {...formField(form, "allowed_networks", validateNetworks)} />
    </FormDialog>
  );
}

const RevokeDialog = ({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) => (
  <ActionDialog
    title={t("settings.keys.revokeTitle")}
    action={t("ui.revoke")}
    run={(client) => client.keys.revoke(apiKey.id)}
    invalidate={["keys"]}
    successMessage={t("settings.keys.revoked")}
    onClose={onClose}
  >
    <p>
      {rich("settings.keys.revokeText", { name: apiKey.name, prefix: apiKey.prefix, strong, code })}
    </p>
  </ActionDialog>
);

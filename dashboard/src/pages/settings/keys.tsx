/** API keys. The value of a new key is shown only once, in its dialog. */
import { Plus, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";

import type { ApiKey } from "../../../../clients/typescript/src/index.ts";
import { newKeyBody, type Scope, SCOPES } from "../../../../shared/contracts/key-schemas.ts";
import { useKeysQuery } from "../../data/account-lists.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { code, rich, strong, t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, FormDialog, Secret, SecretDialog, useDialog } from "../../ui/dialog.tsx";
import { CheckField, formField, SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, QueryList } from "../../ui/states.tsx";
import { RowTable } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";

export function KeysPage() {
  const { account, mode } = useAccountContext();
  const { open, dialog } = useDialog();
  const keys = useKeysQuery();
  if (account.role !== "owner") {
    return <Empty title={t("settings.keys.forOwners")} />;
  }
  return (
    <Page
      title={t("shell.pages.keys")}
      intro={mode === "live" ? t("settings.keys.introLive") : t("settings.keys.introTest")}
      actions={
        <Button variant="primary" onClick={() => open((close) => <CreateDialog onClose={close} />)}>
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
      {dialog}
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
        name: t("settings.keys.name"),
        cell: ({ name, created_at }) => (
          <>
            <strong>{name}</strong>
            <div className="hint">
              {t("settings.keys.created", { time: formatDateTime(created_at) })}
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
        cell: ({ scopes }) => scopes.join(", "),
      },
      {
        name: t("settings.keys.lastUsed"),
        isNamed: true,
        cell: ({ last_used_at }) =>
          last_used_at === null ? t("settings.keys.never") : formatDateTime(last_used_at),
      },
      {
        name: t("settings.keys.statusHead"),
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

function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const { open, dialog } = useDialog();
  return (
    <>
      {getStatus(apiKey) === "active" && (
        <ActionMenu
          label={t("settings.keys.actions", { name: apiKey.name })}
          actions={[
            {
              label: t("settings.keys.rotate"),
              icon: <RotateCw aria-hidden />,
              onSelect: () => open((close) => <RotateDialog apiKey={apiKey} onClose={close} />),
            },
            {
              label: t("settings.keys.revoke"),
              icon: <Trash2 aria-hidden />,
              danger: true,
              onSelect: () => open((close) => <RevokeDialog apiKey={apiKey} onClose={close} />),
            },
          ]}
        />
      )}
      {dialog}
    </>
  );
}

type Values = { name: string; scopes: Scope[]; expires_at: string };

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { scope, mode } = useAccountContext();
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: { name: "", scopes: ["links:read", "links:write"], expires_at: "" },
  });
  const { errors } = form.formState;
  const create = useApiMutation(
    ({ name, scopes, expires_at }: Values) =>
      getClient(scope).keys.create({
        name: name.trim(),
        type: mode,
        scopes,
        expires_at: expires_at === "" ? null : toInstant(expires_at),
      }),
    { invalidate: [["keys", scope]] },
  );
  if (create.data !== undefined) return <NewKey value={create.data.key} onClose={onClose} />;
  return (
    <FormDialog
      title={t("settings.keys.new")}
      action={t("settings.keys.createKey")}
      onSubmit={form.handleSubmit((values) => create.mutate(values))}
      onClose={onClose}
      task={create}
    >
      <TextField
        label={t("settings.keys.name")}
        hint={t("settings.keys.nameHint")}
        {...formField(form, "name", { validate: validateWith(newKeyBody.shape.name) })}
      />
      <p>{rich(`settings.keys.type.${mode}`, { strong })}</p>
      <fieldset>
        <legend>{t("settings.keys.scopes")}</legend>
        <div className="columns">
          {SCOPES.map((scope) => (
            <CheckField
              key={scope}
              label={<code>{scope}</code>}
              value={scope}
              {...form.register("scopes", { validate: validateWith(newKeyBody.shape.scopes) })}
            />
          ))}
        </div>
        {errors.scopes !== undefined && (
          <small className="field-error" role="alert">
            {t("settings.keys.chooseOne")}
          </small>
        )}
      </fieldset>
      <TextField
        label={t("settings.keys.expires")}
        type="datetime-local"
        hint={t("settings.keys.expiresHint")}
        {...form.register("expires_at")}
      />
    </FormDialog>
  );
}

const NewKey = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <SecretDialog
    title={t("settings.keys.newTitle")}
    warning={t("settings.keys.newWarning")}
    done={t("ui.saved")}
    onClose={onClose}
  >
    <Secret text={value} copyLabel={t("settings.keys.copy")} testId="new-key" />
  </SecretDialog>
);

const GRACE_PERIODS: readonly { value: string; label: TextKey }[] = [
  { value: "0", label: "settings.keys.grace.none" },
  { value: "3600", label: "settings.keys.grace.hour" },
  { value: "86400", label: "settings.keys.grace.day" },
  { value: "604800", label: "settings.keys.grace.week" },
];

function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { scope } = useAccountContext();
  const [grace, setGrace] = useState("86400");
  const rotate = useApiMutation(
    () => getClient(scope).keys.rotate(apiKey.id, { grace_seconds: Number(grace) }),
    { invalidate: [["keys", scope]] },
  );
  if (rotate.data !== undefined) return <NewKey value={rotate.data.key} onClose={onClose} />;
  return (
    <FormDialog
      title={t("settings.keys.rotateTitle", { name: apiKey.name })}
      action={t("settings.keys.rotate")}
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
      task={rotate}
    >
      <p>{t("settings.keys.rotateText")}</p>
      <SelectField
        label={t("settings.keys.oldKey")}
        options={GRACE_PERIODS.map(({ value, label }) => ({ value, label: t(label) }))}
        value={grace}
        onChange={(event) => setGrace(event.target.value)}
      />
    </FormDialog>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { scope } = useAccountContext();
  const revoke = useApiMutation(() => getClient(scope).keys.revoke(apiKey.id), {
    invalidate: [["keys", scope]],
    successMessage: t("settings.keys.revoked"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("settings.keys.revokeTitle")}
      action={t("settings.keys.revoke")}
      onClose={onClose}
      task={revoke}
    >
      <p>
        {rich("settings.keys.revokeText", {
          name: apiKey.name,
          prefix: apiKey.prefix,
          strong,
          code,
        })}
      </p>
    </ConfirmDialog>
  );
}

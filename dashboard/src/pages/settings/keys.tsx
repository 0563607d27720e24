/** API keys. The value of a new key is shown only once, in its dialog. */
import { useQuery } from "@tanstack/react-query";
import { Plus, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";

import type { ApiKey } from "../../../../clients/typescript/src/index.ts";
import { createKeyBody, type Scope, SCOPES } from "../../../../shared/contracts/key-schemas.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Secret, SecretDialog } from "../../ui/secret-dialog.tsx";
import { Empty, QueryBoundary } from "../../ui/states.tsx";
import { ACTIONS, Table } from "../../ui/table.tsx";
import { validateWith } from "../../ui/validation.ts";

/** The open dialog, with its key. */
type OpenDialog = { kind: "create" } | { kind: "revoke" | "rotate"; key: ApiKey };

export function KeysPage() {
  const { scope, account, mode } = useAccountContext();
  const [dialog, setDialog] = useState<OpenDialog>();
  const keys = useQuery({
    queryKey: ["keys", scope],
    enabled: account.role === "owner",
    queryFn: () => Array.fromAsync(getClient(scope).keys.all()),
  });
  if (account.role !== "owner") {
    return <Empty title="API keys are for owners of the account" />;
  }
  const close = () => setDialog(undefined);
  return (
    <Page
      title="API keys"
      intro={
        mode === "live"
          ? "Programs use API keys to call the API. Create test keys in test mode."
          : "Test keys can access only test links."
      }
      actions={
        <Button variant="primary" onClick={() => setDialog({ kind: "create" })}>
          <Plus aria-hidden /> New API key
        </Button>
      }
    >
      <Card>
        <QueryBoundary query={keys} label="API keys">
          {(data) =>
            data.length === 0 ? (
              <Empty title="No API keys yet">
                <p>Create one to call the API from a program.</p>
              </Empty>
            ) : (
              <KeyTable
                keys={data}
                onRevoke={(key) => setDialog({ kind: "revoke", key })}
                onRotate={(key) => setDialog({ kind: "rotate", key })}
              />
            )
          }
        </QueryBoundary>
      </Card>
      {dialog?.kind === "create" && <CreateDialog onClose={close} />}
      {dialog?.kind === "rotate" && <RotateDialog apiKey={dialog.key} onClose={close} />}
      {dialog?.kind === "revoke" && <RevokeDialog apiKey={dialog.key} onClose={close} />}
    </Page>
  );
}

/** Returns the current status of a key. `Expiring`: replaced by rotation, and within its grace period. */
function getStatus({
  revoked_at,
  expires_at,
}: ApiKey): "Active" | "Revoked" | "Expired" | "Expiring" {
  const now = Date.now();
  if (revoked_at !== null) return Date.parse(revoked_at) > now ? "Expiring" : "Revoked";
  return expires_at !== null && Date.parse(expires_at) <= now ? "Expired" : "Active";
}

function KeyTable({
  keys,
  onRevoke,
  onRotate,
}: {
  keys: readonly ApiKey[];
  onRevoke: (key: ApiKey) => void;
  onRotate: (key: ApiKey) => void;
}) {
  return (
    <Table label="API keys" head={["Name", "Key", "Scopes", "Last used", "Status", ACTIONS]}>
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            <strong>{key.name}</strong>
            <div className="hint">Created {formatDateTime(key.created_at)}</div>
          </td>
          <td>
            <code>{key.prefix}…</code>
          </td>
          <td className="scopes">{key.scopes.join(", ")}</td>
          <td>{key.last_used_at === null ? "Never" : formatDateTime(key.last_used_at)}</td>
          <td>
            <span className={getStatus(key) === "Active" ? "badge badge-good" : "badge badge-bad"}>
              {getStatus(key)}
            </span>
          </td>
          <td className="row-actions">
            {getStatus(key) === "Active" && (
              <ActionMenu
                label={`Actions for ${key.name}`}
                actions={[
                  {
                    label: "Rotate",
                    icon: <RotateCw aria-hidden />,
                    onSelect: () => onRotate(key),
                  },
                  {
                    label: "Revoke",
                    icon: <Trash2 aria-hidden />,
                    danger: true,
                    onSelect: () => onRevoke(key),
                  },
                ]}
              />
            )}
          </td>
        </tr>
      ))}
    </Table>
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
        expires_at: expires_at === "" ? null : new Date(expires_at).toISOString(),
      }),
    { invalidate: [["keys", scope]] },
  );
  if (create.data !== undefined) return <NewKey value={create.data.key} onClose={onClose} />;
  return (
    <Dialog title="New API key" onClose={onClose}>
      <DialogForm
        action="Create key"
        onSubmit={(event) => void form.handleSubmit((values) => create.mutate(values))(event)}
        onCancel={onClose}
        loading={create.isPending}
        error={create.error}
      >
        <TextField
          label="Name"
          hint="What the key is used for, such as the name of a program."
          error={errors.name?.message}
          {...form.register("name", { validate: validateWith(createKeyBody.shape.name) })}
        />
        <p>
          Type: <strong>{mode}</strong>
        </p>
        <fieldset>
          <legend>Scopes</legend>
          <div className="columns">
            {SCOPES.map((scope) => (
              <CheckField
                key={scope}
                label={<code>{scope}</code>}
                value={scope}
                {...form.register("scopes", { validate: validateWith(createKeyBody.shape.scopes) })}
              />
            ))}
          </div>
          {errors.scopes !== undefined && (
            <small className="field-error" role="alert">
              Choose at least one
            </small>
          )}
        </fieldset>
        <TextField
          label="Expires"
          type="datetime-local"
          hint="Leave empty for a key that does not expire."
          {...form.register("expires_at")}
        />
      </DialogForm>
    </Dialog>
  );
}

const NewKey = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <SecretDialog
    title="Your new API key"
    warning="Copy the key now and store it safely. It is shown only once."
    done="I have saved it"
    onClose={onClose}
  >
    <Secret text={value} copyLabel="Copy key" testId="new-key" />
  </SecretDialog>
);

const GRACE_PERIODS = [
  { value: "0", label: "stops working immediately" },
  { value: "3600", label: "works for another hour" },
  { value: "86400", label: "works for another day" },
  { value: "604800", label: "works for another week" },
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
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose}>
      <DialogForm
        action="Rotate"
        onSubmit={() => rotate.mutate()}
        onCancel={onClose}
        loading={rotate.isPending}
        error={rotate.error}
      >
        <p>Creates a new key with the same name and scopes.</p>
        <SelectField
          label="The old key"
          options={GRACE_PERIODS}
          value={grace}
          onChange={(event) => setGrace(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { scope } = useAccountContext();
  const revoke = useApiMutation(() => getClient(scope).keys.revoke(apiKey.id), {
    invalidate: [["keys", scope]],
    successMessage: "The key has been revoked.",
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title="Revoke this key?"
      action="Revoke"
      onClose={onClose}
      onConfirm={() => revoke.mutate()}
      loading={revoke.isPending}
      error={revoke.error}
    >
      <p>
        Programs that use <strong>{apiKey.name}</strong> (<code>{apiKey.prefix}…</code>) lose access
        with their next request. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}

/** API keys. The value of a new one is shown this once, and is gone with its dialog. */
import { useQuery } from "@tanstack/react-query";
import { Plus, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useForm } from "react-hook-form";

import type { ApiKey } from "../../../../clients/typescript/src/index.ts";
import { createKeyBody, type Scope, SCOPES } from "../../../../shared/contracts/key-bodies.ts";
import { useChange } from "../../data/change.ts";
import { clientOf } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { Button, CopyButton } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { moment } from "../../ui/format.ts";
import { ActionMenu } from "../../ui/menu.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, Show } from "../../ui/states.tsx";
import { ACTIONS, Table } from "../../ui/table.tsx";
import { problemOf } from "../../ui/validation.ts";

type Opened = { what: "create" } | { what: "revoke" | "rotate"; key: ApiKey };

export function KeysPage() {
  const { place, account, mode } = useHere();
  const [opened, setOpened] = useState<Opened>();
  const keys = useQuery({
    queryKey: ["keys", place],
    enabled: account.role === "owner",
    queryFn: () => Array.fromAsync(clientOf(place).keys.all()),
  });
  if (account.role !== "owner") {
    return <Empty title="API keys are for owners of the account" />;
  }
  const close = () => setOpened(undefined);
  return (
    <Page
      title="API keys"
      intro={
        mode === "live"
          ? "Programs call the API with them. Test keys are made in test mode."
          : "Test keys see test links alone."
      }
      actions={
        <Button look="primary" onClick={() => setOpened({ what: "create" })}>
          <Plus aria-hidden /> New API key
        </Button>
      }
    >
      <Card>
        <Show query={keys} what="API keys">
          {(data) =>
            data.length === 0 ? (
              <Empty title="No API keys yet">
                <p>Make one to use the API from a program.</p>
              </Empty>
            ) : (
              <KeyTable
                keys={data}
                onRevoke={(key) => setOpened({ what: "revoke", key })}
                onRotate={(key) => setOpened({ what: "rotate", key })}
              />
            )
          }
        </Show>
      </Card>
      {opened?.what === "create" && <CreateDialog onClose={close} />}
      {opened?.what === "rotate" && <RotateDialog apiKey={opened.key} onClose={close} />}
      {opened?.what === "revoke" && <RevokeDialog apiKey={opened.key} onClose={close} />}
    </Page>
  );
}

/** What a key is like now, in a word. */
function stateOf({ revoked_at, expires_at }: ApiKey): "Active" | "Revoked" | "Expired" | "Ending" {
  const now = Date.now();
  if (revoked_at !== null) return Date.parse(revoked_at) > now ? "Ending" : "Revoked";
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
    <Table label="API keys" head={["Name", "Key", "Scopes", "Last used", "State", ACTIONS]}>
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            <strong>{key.name}</strong>
            <div className="hint">Made {moment(key.created_at)}</div>
          </td>
          <td>
            <code>{key.prefix}…</code>
          </td>
          <td className="scopes">{key.scopes.join(", ")}</td>
          <td>{key.last_used_at === null ? "Never" : moment(key.last_used_at)}</td>
          <td>
            <span className={stateOf(key) === "Active" ? "badge badge-good" : "badge badge-bad"}>
              {stateOf(key)}
            </span>
          </td>
          <td className="row-actions">
            {stateOf(key) === "Active" && (
              <ActionMenu
                label={`Actions for ${key.name}`}
                actions={[
                  {
                    label: "Rotate",
                    icon: <RotateCw aria-hidden />,
                    onChoose: () => onRotate(key),
                  },
                  {
                    label: "Revoke",
                    icon: <Trash2 aria-hidden />,
                    danger: true,
                    onChoose: () => onRevoke(key),
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
  const { place, mode } = useHere();
  const form = useForm<Values>({
    mode: "onChange",
    defaultValues: { name: "", scopes: ["links:read", "links:write"], expires_at: "" },
  });
  const { errors } = form.formState;
  const create = useChange(
    ({ name, scopes, expires_at }: Values) =>
      clientOf(place).keys.create({
        name: name.trim(),
        type: mode,
        scopes,
        expires_at: expires_at === "" ? null : new Date(expires_at).toISOString(),
      }),
    { refresh: [["keys", place]] },
  );
  if (create.data !== undefined) return <NewKey value={create.data.key} onClose={onClose} />;
  return (
    <Dialog title="New API key" onClose={onClose}>
      <DialogForm
        action="Make key"
        onSubmit={(event) => void form.handleSubmit((values) => create.mutate(values))(event)}
        onCancel={onClose}
        busy={create.isPending}
        error={create.error}
      >
        <TextField
          label="Name"
          hint="What the key is for, such as the program that uses it."
          problem={errors.name?.message}
          {...form.register("name", { validate: problemOf(createKeyBody.shape.name) })}
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
                {...form.register("scopes", { validate: problemOf(createKeyBody.shape.scopes) })}
              />
            ))}
          </div>
          {errors.scopes !== undefined && (
            <small className="field-problem" role="alert">
              Choose one at least
            </small>
          )}
        </fieldset>
        <TextField
          label="Expires"
          type="datetime-local"
          hint="Left empty, it works until it is revoked."
          {...form.register("expires_at")}
        />
      </DialogForm>
    </Dialog>
  );
}

/** The one time that a key is shown: it is not closed by accident. */
const NewKey = ({ value, onClose }: { value: string; onClose: () => void }) => (
  <Dialog title="Your new API key" onClose={onClose} locked>
    <p className="warning">
      Copy it now and keep it safe: it is shown this once, and cannot be shown again.
    </p>
    <div className="secret">
      <code data-testid="new-key">{value}</code>
      <CopyButton text={value} label="Copy the key">
        Copy
      </CopyButton>
    </div>
    <footer>
      <Button look="primary" onClick={onClose}>
        I have kept it
      </Button>
    </footer>
  </Dialog>
);

const GRACES = [
  { value: "0", label: "stops at once" },
  { value: "3600", label: "works for another hour" },
  { value: "86400", label: "works for another day" },
  { value: "604800", label: "works for another week" },
];

function RotateDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { place } = useHere();
  const [grace, setGrace] = useState("86400");
  const rotate = useChange(
    () => clientOf(place).keys.rotate(apiKey.id, { grace_seconds: Number(grace) }),
    { refresh: [["keys", place]] },
  );
  if (rotate.data !== undefined) return <NewKey value={rotate.data.key} onClose={onClose} />;
  return (
    <Dialog title={`Rotate ${apiKey.name}`} onClose={onClose}>
      <DialogForm
        action="Rotate"
        onSubmit={() => rotate.mutate()}
        onCancel={onClose}
        busy={rotate.isPending}
        error={rotate.error}
      >
        <p>A new key takes its place, with the same name and scopes.</p>
        <SelectField
          label="The old key"
          choices={GRACES}
          value={grace}
          onChange={(event) => setGrace(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { place } = useHere();
  const revoke = useChange(() => clientOf(place).keys.revoke(apiKey.id), {
    refresh: [["keys", place]],
    done: "The key has been revoked.",
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      title="Revoke this key?"
      action="Revoke"
      onClose={onClose}
      onConfirm={() => revoke.mutate()}
      busy={revoke.isPending}
      error={revoke.error}
    >
      <p>
        Programs that use <strong>{apiKey.name}</strong> (<code>{apiKey.prefix}…</code>) are refused
        from their next request on. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}

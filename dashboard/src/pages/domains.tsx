/** Domains of one's own for short links: added, proven by a DNS record, removed. */
import { useQuery } from "@tanstack/react-query";
import { Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";

import type { Domain } from "../../../clients/typescript/src/index.ts";
import { useChange } from "../data/change.ts";
import { messageOf } from "../data/errors.ts";
import { clientOf } from "../data/http.ts";
import { useHere, useMayWrite } from "../data/session.ts";
import { Button, CopyButton, IconButton } from "../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { moment } from "../ui/format.ts";
import { Card, Page } from "../ui/page.tsx";
import { Empty, Problem, Show } from "../ui/states.tsx";
import { toast } from "../ui/toast.tsx";

export function DomainsPage() {
  const { place } = useHere();
  const mayWrite = useMayWrite();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Domain>();
  const domains = useQuery({
    queryKey: ["domains", place],
    queryFn: () => Array.fromAsync(clientOf(place).domains.all()),
  });
  return (
    <Page
      title="Domains"
      intro="Short links under a name of your own."
      actions={
        mayWrite && (
          <Button look="primary" onClick={() => setAdding(true)}>
            <Plus aria-hidden /> Add domain
          </Button>
        )
      }
    >
      <Show query={domains} what="domains">
        {(data) =>
          data.length === 0 ? (
            <Card>
              <Empty title="No domains yet">
                <p>Links are served under the service’s own domain until you add yours.</p>
              </Empty>
            </Card>
          ) : (
            data.map((domain) => (
              <DomainCard key={domain.id} domain={domain} onRemove={() => setRemoving(domain)} />
            ))
          )
        }
      </Show>
      {adding && <AddDialog onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <RemoveDialog domain={removing} onClose={() => setRemoving(undefined)} />
      )}
    </Page>
  );
}

function DomainCard({ domain, onRemove }: { domain: Domain; onRemove: () => void }) {
  const { place } = useHere();
  const mayWrite = useMayWrite();
  const verify = useChange(() => clientOf(place).domains.verify(domain.id), {
    refresh: [["domains", place]],
    onDone: ({ status }) => {
      if (status === "verified") toast(`${domain.domain} has been verified.`);
    },
  });
  const verified = domain.status === "verified";
  return (
    <Card
      title={domain.domain}
      actions={
        <span className="actions">
          <span className={verified ? "badge badge-good" : "badge"}>
            {verified ? "Verified" : "Pending"}
          </span>
          {mayWrite && (
            <IconButton label={`Remove ${domain.domain}`} onClick={onRemove}>
              <Trash2 aria-hidden />
            </IconButton>
          )}
        </span>
      }
    >
      {verified ? (
        <p className="hint">
          Verified {domain.verified_at === null ? "" : moment(domain.verified_at)}. Links may be
          made under it.
        </p>
      ) : (
        <div className="stack">
          <p>Make these two records at your DNS provider, then verify:</p>
          <DnsRecord {...domain.verification} />
          <DnsRecord type="CNAME or A" name={domain.domain} value="where this service is reached" />
          {verify.data?.problem !== undefined && verify.data.problem !== null && (
            <Problem>{verify.data.problem}</Problem>
          )}
          {verify.error !== null && <Problem>{messageOf(verify.error)}</Problem>}
          {mayWrite && (
            <div>
              <Button look="primary" busy={verify.isPending} onClick={() => verify.mutate()}>
                <RefreshCw aria-hidden /> Verify now
              </Button>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

const DnsRecord = ({ type, name, value }: { type: string; name: string; value: string }) => (
  <dl className="dns">
    <dt>Type</dt>
    <dd>{type}</dd>
    <dt>Name</dt>
    <dd>
      <code>{name}</code>
      <CopyButton text={name} label={`Copy the name of the ${type} record`} />
    </dd>
    <dt>Value</dt>
    <dd>
      <code>{value}</code>
      {type === "TXT" && <CopyButton text={value} label={`Copy the value of the ${type} record`} />}
    </dd>
  </dl>
);

function AddDialog({ onClose }: { onClose: () => void }) {
  const { place } = useHere();
  const [name, setName] = useState("");
  const add = useChange(() => clientOf(place).domains.create(name.trim()), {
    refresh: [["domains", place]],
    onDone: onClose,
  });
  return (
    <Dialog title="Add a domain" onClose={onClose}>
      <DialogForm
        action="Add"
        onSubmit={() => add.mutate()}
        onCancel={onClose}
        busy={add.isPending}
        error={add.error}
      >
        <TextField
          label="Domain"
          placeholder="go.example.com"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}

function RemoveDialog({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const { place } = useHere();
  const remove = useChange(() => clientOf(place).domains.delete(domain.id), {
    refresh: [["domains", place]],
    done: "The domain has been removed.",
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      title={`Remove ${domain.domain}?`}
      action="Remove"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    >
      <p>No links can be made under it any more. A domain that has links cannot be removed.</p>
    </ConfirmDialog>
  );
}

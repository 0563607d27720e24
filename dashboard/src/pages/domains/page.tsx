/** Custom domains: add, verify by a DNS record, change their settings, remove. */
import { useQuery } from "@tanstack/react-query";
import { Plus, RefreshCw, Settings, Trash2 } from "lucide-react";
import { Fragment, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import { readableHost } from "../../../../shared/contracts/readable-host.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { Button, CopyButton, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatDateTime } from "../../ui/format.ts";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, QueryBoundary } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";

export function DomainsPage() {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Domain>();
  const [changing, setChanging] = useState<Domain>();
  const domains = useQuery({
    queryKey: ["domains", scope],
    queryFn: () => Array.fromAsync(getClient(scope).domains.all()),
  });
  return (
    <Page
      title="Domains"
      intro="Use your own domains for short links."
      actions={
        canWrite && (
          <Button variant="primary" onClick={() => setAdding(true)}>
            <Plus aria-hidden /> Add domain
          </Button>
        )
      }
    >
      <QueryBoundary query={domains} label="domains">
        {(data) =>
          data.length === 0 ? (
            <Card>
              <Empty title="No domains yet">
                <p>Links use the service’s domain until you add your own.</p>
              </Empty>
            </Card>
          ) : (
            data.map((domain) => (
              <DomainCard
                key={domain.id}
                domain={domain}
                onChange={() => setChanging(domain)}
                onRemove={() => setRemoving(domain)}
              />
            ))
          )
        }
      </QueryBoundary>
      {adding && <AddDialog onClose={() => setAdding(false)} />}
      {changing !== undefined && (
        <SettingsDialog domain={changing} onClose={() => setChanging(undefined)} />
      )}
      {removing !== undefined && (
        <RemoveDialog domain={removing} onClose={() => setRemoving(undefined)} />
      )}
    </Page>
  );
}

type DomainCardProps = { domain: Domain; onChange: () => void; onRemove: () => void };

function DomainCard({ domain, onChange, onRemove }: DomainCardProps) {
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const verify = useApiMutation(() => getClient(scope).domains.verify(domain.id), {
    invalidate: [["domains", scope]],
    onSuccess: ({ status }) => {
      if (status === "verified") toast(`${domain.domain} is verified.`);
    },
  });
  const verified = domain.status === "verified";
  return (
    <Card
      title={readableHost(domain.domain)}
      actions={
        <span className="actions">
          <span className={verified ? "badge badge-good" : "badge"}>
            {verified ? "Verified" : "Pending"}
          </span>
          {canWrite && verified && (
            <IconButton label={`Settings of ${domain.domain}`} onClick={onChange}>
              <Settings aria-hidden />
            </IconButton>
          )}
          {canWrite && (
            <IconButton label={`Remove ${domain.domain}`} onClick={onRemove}>
              <Trash2 aria-hidden />
            </IconButton>
          )}
        </span>
      }
    >
      {verified ? (
        <VerifiedDomain domain={domain} />
      ) : (
        <div className="stack">
          <p>Create these two records at your DNS provider, then verify:</p>
          <DnsRecord {...domain.verification} />
          <DnsRecord {...domain.routing} />
          {verify.data?.problem !== undefined && verify.data.problem !== null && (
            <Alert>{verify.data.problem}</Alert>
          )}
          {verify.error !== null && <Alert>{getErrorMessage(verify.error)}</Alert>}
          {canWrite && (
            <div>
              <Button variant="primary" loading={verify.isPending} onClick={() => verify.mutate()}>
                <RefreshCw aria-hidden /> Verify now
              </Button>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

/** Names of settings that are on, in the order of the dialog. */
const SETTINGS: readonly (readonly [keyof Domain, string])[] = [
  ["root_url", "The domain itself redirects to"],
  ["not_found_url", "Unknown short links redirect to"],
  ["expired_url", "Expired links redirect to"],
  ["case_sensitive", "Aliases"],
  ["apple_app_site_association", "File for iOS apps"],
  ["assetlinks", "File for Android apps"],
];

function VerifiedDomain({ domain }: { domain: Domain }) {
  const settings = SETTINGS.filter(([field]) => domain[field] !== undefined);
  return (
    <div className="stack">
      {domain.proof_missing_since !== undefined && (
        <div className="stack warning">
          <p>
            The TXT record has been missing since {formatDateTime(domain.proof_missing_since)}.
            Links work on, but after seven days another account can take the domain over. Publish it
            again:
          </p>
          <DnsRecord {...domain.verification} />
        </div>
      )}
      <p className="hint">
        Verified {domain.verified_at === null ? "" : formatDateTime(domain.verified_at)}. You can
        create links on it. <PageLink href={`/domains/${domain.domain}`}>Analytics</PageLink>
      </p>
      {domain.switching === true && (
        <p role="status">Links are being published under aliases of the other case …</p>
      )}
      {settings.length > 0 && (
        <dl className="facts">
          {settings.map(([field, label]) => (
            <Fragment key={field}>
              <dt>{label}</dt>
              <dd>{describeSetting(field, domain)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
    </div>
  );
}

function describeSetting(field: keyof Domain, domain: Domain): string {
  const value = domain[field];
  if (field === "case_sensitive") return "are found in any case";
  return typeof value === "string" ? value : "is served";
}

const DnsRecord = ({ type, name, value }: { type: string; name: string; value: string }) => (
  <dl className="dns">
    <dt>Type</dt>
    <dd>{type}</dd>
    <dt>Name</dt>
    <dd>
      <code>{name}</code>
      <CopyButton text={name} label={`Copy name of the ${type} record`} />
    </dd>
    <dt>Value</dt>
    <dd>
      <code>{value}</code>
      <CopyButton text={value} label={`Copy value of the ${type} record`} />
    </dd>
  </dl>
);

function AddDialog({ onClose }: { onClose: () => void }) {
  const { scope } = useAccountContext();
  const [name, setName] = useState("");
  const add = useApiMutation(() => getClient(scope).domains.create(name.trim()), {
    invalidate: [["domains", scope]],
    onSuccess: onClose,
  });
  return (
    <Dialog title="Add a domain" onClose={onClose}>
      <DialogForm
        action="Add"
        onSubmit={() => add.mutate()}
        onCancel={onClose}
        loading={add.isPending}
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
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).domains.delete(domain.id), {
    invalidate: [["domains", scope]],
    successMessage: "The domain has been removed.",
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={`Remove ${domain.domain}?`}
      action="Remove"
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      loading={remove.isPending}
      error={remove.error}
    >
      <p>You can no longer create links on it. A domain that still has links cannot be removed.</p>
    </ConfirmDialog>
  );
}

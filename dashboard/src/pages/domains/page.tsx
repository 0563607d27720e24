/** Custom domains: add, verify by a DNS record, change their settings, remove. */
import { Plus, RefreshCw, Settings, Trash2 } from "lucide-react";
import { Fragment, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import { readableHost } from "../../../../shared/contracts/host-names.ts";
import { useDomainsQuery } from "../../data/account-lists.ts";
import { getClient } from "../../data/http.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { translateSentence } from "../../languages/errors.ts";
import { rich, t } from "../../languages/translate.ts";
import { Button, CopyButton, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog, FormDialog, useDialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { formatDateTime, formatTime } from "../../ui/format.ts";
import { useApiMutation } from "../../ui/mutation.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, ErrorAlert, QueryBoundary } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";

export function DomainsPage() {
  const canWrite = useCanWrite();
  const { open, dialog } = useDialog();
  const domains = useDomainsQuery();
  return (
    <Page
      title={t("shell.pages.domains")}
      intro={t("domains.intro")}
      actions={
        canWrite && (
          <Button variant="primary" onClick={() => open((close) => <AddDialog onClose={close} />)}>
            <Plus aria-hidden /> {t("domains.addDomain")}
          </Button>
        )
      }
    >
      <QueryBoundary query={domains} label={t("domains.loading")}>
        {(data) =>
          data.length === 0 ? (
            <Card>
              <Empty title={t("domains.empty")}>
                <p>{t("domains.emptyHint")}</p>
              </Empty>
            </Card>
          ) : (
            data.map((domain) => <DomainCard key={domain.id} domain={domain} />)
          )
        }
      </QueryBoundary>
      {dialog}
    </Page>
  );
}

function DomainCard({ domain }: { domain: Domain }) {
  const { open, dialog } = useDialog();
  const { scope } = useAccountContext();
  const canWrite = useCanWrite();
  const verify = useApiMutation(() => getClient(scope).domains.verify(domain.id), {
    invalidate: [["domains", scope]],
    onSuccess: ({ status }) => {
      if (status === "verified") toast(t("domains.isVerified", { domain: domain.domain }));
    },
  });
  const verified = domain.status === "verified";
  return (
    <Card
      title={readableHost(domain.domain)}
      actions={
        <span className="actions">
          <span className={verified ? "badge badge-good" : "badge"}>
            {verified ? t("domains.verified") : t("domains.pending")}
          </span>
          {canWrite && verified && (
            <IconButton
              label={t("domains.settingsOf", { domain: domain.domain })}
              onClick={() => open((close) => <SettingsDialog domain={domain} onClose={close} />)}
            >
              <Settings aria-hidden />
            </IconButton>
          )}
          {canWrite && (
            <IconButton
              label={t("domains.remove", { domain: domain.domain })}
              onClick={() => open((close) => <RemoveDialog domain={domain} onClose={close} />)}
            >
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
          <p>{t("domains.createRecords")}</p>
          <DnsRecord {...domain.verification} />
          <DnsRecord {...domain.routing} />
          {verify.data?.problem !== undefined && verify.data.problem !== null && (
            <Alert>
              {translateSentence(verify.data.problem)}
              {verify.data.checked_at !== null &&
                ` ${t("domains.checkedAt", { time: formatTime(new Date(verify.data.checked_at)) })}`}
            </Alert>
          )}
          <ErrorAlert error={verify.error} />
          {canWrite && (
            <div>
              <Button variant="primary" loading={verify.isPending} onClick={() => verify.mutate()}>
                <RefreshCw aria-hidden /> {t("domains.verify")}
              </Button>
            </div>
          )}
        </div>
      )}
      {dialog}
    </Card>
  );
}

/** Names of settings that are on, in the order of the dialog. */
const SETTINGS: readonly (readonly [keyof Domain, TextKey])[] = [
  ["root_url", "domains.rootUrl"],
  ["not_found_url", "domains.notFoundUrl"],
  ["expired_url", "domains.expiredUrl"],
  ["redirect_status", "links.form.redirectStatus"],
  ["case_sensitive", "domains.aliases"],
  ["apple_app_site_association", "domains.iosFile"],
  ["assetlinks", "domains.androidFile"],
];

function VerifiedDomain({ domain }: { domain: Domain }) {
  const settings = SETTINGS.filter(([field]) => domain[field] !== undefined);
  return (
    <div className="stack">
      {domain.proof_missing_since !== undefined && (
        <div className="stack warning">
          <p>{t("domains.proofMissing", { time: formatDateTime(domain.proof_missing_since) })}</p>
          <DnsRecord {...domain.verification} />
        </div>
      )}
      <p className="hint">
        {rich("domains.verifiedAt", {
          time: domain.verified_at === null ? "" : formatDateTime(domain.verified_at),
          page: (name) => <PageLink href={`/domains/${domain.domain}`}>{name}</PageLink>,
        })}
      </p>
      {domain.switching === true && <p role="status">{t("domains.switching")}</p>}
      {settings.length > 0 && (
        <dl className="facts">
          {settings.map(([field, label]) => (
            <Fragment key={field}>
              <dt>{t(label)}</dt>
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
  if (field === "case_sensitive") return t("domains.anyCase");
  return typeof value === "string" ? value : t("domains.served");
}

const DnsRecord = ({ type, name, value }: { type: string; name: string; value: string }) => (
  <dl className="dns">
    <dt>{t("domains.type")}</dt>
    <dd>{type}</dd>
    <dt>{t("domains.name")}</dt>
    <dd>
      <code>{name}</code>
      <CopyButton text={name} label={t("domains.copyName", { type })} />
    </dd>
    <dt>{t("domains.value")}</dt>
    <dd>
      <code>{value}</code>
      <CopyButton text={value} label={t("domains.copyValue", { type })} />
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
    <FormDialog
      title={t("domains.addTitle")}
      action={t("domains.add")}
      onSubmit={() => add.mutate()}
      onClose={onClose}
      task={add}
    >
      <TextField
        label={t("domains.domain")}
        placeholder="go.example.com"
        autoCapitalize="none"
        spellCheck={false}
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}

function RemoveDialog({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const { scope } = useAccountContext();
  const remove = useApiMutation(() => getClient(scope).domains.delete(domain.id), {
    invalidate: [["domains", scope]],
    successMessage: t("domains.removed"),
    onSuccess: onClose,
  });
  return (
    <ConfirmDialog
      title={t("domains.removeTitle", { domain: domain.domain })}
      action={t("domains.removeAction")}
      onClose={onClose}
      task={remove}
    >
      <p>{t("domains.removeText")}</p>
    </ConfirmDialog>
  );
}

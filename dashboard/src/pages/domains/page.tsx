/** Custom domains: add, verify by a DNS record, change their settings, remove. */
import { Plus, RefreshCw, Settings, Trash2 } from "lucide-react";
import { Fragment, useState } from "react";
import { Link as PageLink } from "wouter";

import type { Domain } from "../../../../clients/typescript/src/index.ts";
import {
  APP_FILE_BYTES_MAX,
  type ChangeDomainBody,
  changeDomainBody,
} from "../../../../shared/contracts/domain-settings.ts";
import { readableHost } from "../../../../shared/contracts/host-names.ts";
import {
  DEFAULT_REDIRECT_STATUS,
  REDIRECT_STATUSES,
} from "../../../../shared/contracts/redirect-status.ts";
import { trimInvisible } from "../../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { useDomainsQuery } from "../../data/account-lists.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext, useCanWrite, useClient } from "../../data/session.ts";
import { describeIssue, describeRule, translateSentence } from "../../languages/errors.ts";
import { rich, t, type TextKey } from "../../languages/translate.ts";
import { Button, CopyButton, IconButton } from "../../ui/button.tsx";
import { ActionDialog, FormDialog } from "../../ui/dialog.tsx";
import { CheckField, Disclosure, SelectField, TextAreaField, TextField } from "../../ui/field.tsx";
import { type FieldErrors, formField, required, useFormAction } from "../../ui/form.ts";
import { formatDateTime, formatTime } from "../../ui/format.ts";
import { Card, Page } from "../../ui/page.tsx";
import { Alert, Empty, ErrorAlert, QueryBoundary, useApiMutation } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";

export function DomainsPage() {
  const canWrite = useCanWrite();
  const domains = useDomainsQuery();
  return (
    <Page
      title={t("shell.pages.domains")}
      intro={t("domains.intro")}
      actions={
        canWrite && (
          <Button variant="primary" opens={(close) => <AddDialog onClose={close} />}>
            <Plus aria-hidden /> {t("domains.addDomain")}
          </Button>
        )
      }
    >
      <QueryBoundary query={domains} label={t("shell.pages.domains")}>
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
    </Page>
  );
}

function DomainCard({ domain }: { domain: Domain }) {
  const client = useClient();
  const canWrite = useCanWrite();
  const verify = useApiMutation(() => client.domains.verify(domain.id), {
    invalidate: ["domains"],
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
              opens={(close) => <SettingsDialog domain={domain} onClose={close} />}
            >
              <Settings aria-hidden />
            </IconButton>
          )}
          {canWrite && (
            <IconButton
              label={t("domains.remove", { domain: domain.domain })}
              opens={(close) => <RemoveDialog domain={domain} onClose={close} />}
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
  ["apple_app_site_association", "fields.apple_app_site_association"],
  ["assetlinks", "fields.assetlinks"],
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
    <dt>{t("fields.name")}</dt>
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
  const client = useClient();
  const { form, props } = useFormAction(
    { domain: "" },
    ({ domain }) => client.domains.create(readHost(domain)),
    { invalidate: ["domains"], onSuccess: onClose },
  );
  return (
    <FormDialog title={t("domains.addTitle")} action={t("ui.add")} onClose={onClose} {...props}>
      <TextField
        label={t("fields.domain")}
        placeholder="go.example.com"
        autoCapitalize="none"
        spellCheck={false}
        {...formField(form, "domain", required)}
      />
    </FormDialog>
  );
}

/** A host as typed, or as people paste it: with its scheme, and a slash at its end. */
const readHost = (text: string): string =>
  text
    .trim()
    .replace(/^https?:\/\//i, "")
    .replace(/\/$/, "");

const RemoveDialog = ({ domain, onClose }: { domain: Domain; onClose: () => void }) => (
  <ActionDialog
    title={t("domains.removeTitle", { domain: domain.domain })}
    action={t("ui.remove")}
    run={(client) => client.domains.delete(domain.id)}
    invalidate={["domains"]}
    successMessage={t("domains.removed")}
    onClose={onClose}
  >
    <p>{t("domains.removeText")}</p>
  </ActionDialog>
);

// Changes a domain's responses where it has no link: the values of the form, their validation by
// the API's rules, and the resulting request.

const URL_TEXTS = {
  root_url: {
    label: "domains.rootUrl",
    hint: (host: string) => t("domains.rootUrlHint", { domain: host }),
  },
  not_found_url: {
    label: "domains.notFoundUrl",
    hint: () => t("domains.notFoundUrlHint"),
  },
  expired_url: {
    label: "domains.expiredUrl",
    hint: () => t("domains.expiredUrlHint"),
  },
} as const;

const FILE_TEXTS = {
  apple_app_site_association: {
    label: "domains.iosLabel",
    placeholder: '{ "applinks": { "details": [] } }',
  },
  assetlinks: {
    label: "domains.androidLabel",
    placeholder: '[{ "relation": ["delegate_permission/common.handle_all_urls"] }]',
  },
} as const;

function SettingsDialog({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const { scope } = useAccountContext();
  const [initial] = useState(() => toDomainValues(domain));
  const { form, props } = useFormAction(
    initial,
    (values) =>
      getJson<Domain>(`${getBasePath(scope)}/v1/domains/${domain.id}`, {
        method: "PATCH",
        body: readDomainValues(initial, values).change,
      }),
    {
      invalidate: ["domains"],
      successMessage: t("domains.settingsSaved"),
      onSuccess: onClose,
    },
    (values) => readDomainValues(initial, values).errors,
  );
  return (
    <FormDialog
      title={t("domains.settingsOf", { domain: domain.domain })}
      action={t("ui.save")}
      onClose={onClose}
      wide
      {...props}
    >
      {URL_FIELDS.map((field) => (
        <TextField
          key={field}
          label={t(URL_TEXTS[field].label)}
          type="url"
          inputMode="url"
          hint={URL_TEXTS[field].hint(domain.domain)}
          {...formField(form, field)}
        />
      ))}
      <SelectField
        label={t("links.form.redirectStatus")}
        hint={t("domains.redirectStatusHint")}
        options={REDIRECT_STATUSES.map((status) => ({
          value: statusToValue(status),
          label: t(`links.form.redirectStatuses.${status}`),
        }))}
        {...formField(form, "redirect_status")}
      />
      <CheckField
        label={t("domains.ignoreCase")}
        hint={t("domains.ignoreCaseHint")}
        {...formField(form, "ignoresCase")}
      />
      <Disclosure title={t("domains.files")}>
        <p className="hint">{t("domains.filesHint")}</p>
        {FILE_FIELDS.map((field) => (
          <TextAreaField
            key={field}
            label={t(FILE_TEXTS[field].label)}
            placeholder={FILE_TEXTS[field].placeholder}
            className="code"
            rows={6}
            spellCheck={false}
            {...formField(form, field)}
          />
        ))}
      </Disclosure>
    </FormDialog>
  );
}

const URL_FIELDS = ["root_url", "not_found_url", "expired_url"] as const;
const FILE_FIELDS = ["apple_app_site_association", "assetlinks"] as const;

type UrlField = (typeof URL_FIELDS)[number];
type FileField = (typeof FILE_FIELDS)[number];

type DomainValues = Record<UrlField | FileField, string> & {
  ignoresCase: boolean;
  /** "" for the usual one. */
  redirect_status: string;
};

export const toDomainValues = (domain: Domain): DomainValues => ({
  root_url: domain.root_url ?? "",
  not_found_url: domain.not_found_url ?? "",
  expired_url: domain.expired_url ?? "",
  ignoresCase: domain.case_sensitive === false,
  redirect_status: statusToValue(domain.redirect_status),
  apple_app_site_association: printFile(domain.apple_app_site_association),
  assetlinks: printFile(domain.assetlinks),
});

const statusToValue = (status: number | undefined): string =>
  status === undefined || status === DEFAULT_REDIRECT_STATUS ? "" : String(status);

const printFile = (file: unknown): string =>
  file === undefined ? "" : JSON.stringify(file, null, 2);

/**
 * Returns the fields that differ from `before` as a request, and their problems by the API's rules.
 */
export function readDomainValues(
  before: DomainValues,
  after: DomainValues,
): { change: ChangeDomainBody; errors: FieldErrors<DomainValues> } {
  const errors: FieldErrors<DomainValues> = {};
  const body: Record<string, unknown> = {};
  for (const field of URL_FIELDS) {
    const text = trimInvisible(after[field]);
    if (text === before[field]) continue;
    body[field] = text === "" ? null : text;
    const parsed = text === "" ? undefined : parseWebUrl(text);
    if (parsed !== undefined && "problem" in parsed) errors[field] = describeRule(parsed.problem);
  }
  for (const field of FILE_FIELDS) {
    if (after[field] === before[field]) continue;
    const read = readFile(after[field]);
    if ("problem" in read) errors[field] = read.problem;
    else body[field] = read.file;
  }
  if (after.ignoresCase !== before.ignoresCase) body["case_sensitive"] = !after.ignoresCase;
  if (after.redirect_status !== before.redirect_status)
    body["redirect_status"] = after.redirect_status === "" ? null : Number(after.redirect_status);
  const parsed = changeDomainBody.safeParse(body, { error: describeIssue });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = FILE_FIELDS.find((name) => name === path[0]);
    if (field !== undefined) errors[field] ??= describeRule(message);
  }
  return { change: parsed.data ?? {}, errors };
}

/** Reads an app association file; null for none. */
function readFile(text: string): { file: unknown } | { problem: string } {
  if (text.trim() === "") return { file: null };
  try {
    const file: unknown = JSON.parse(text);
    // Counted as the API does: compact, in UTF-8.
    const bytes = new TextEncoder().encode(JSON.stringify(file)).length;
    return bytes > APP_FILE_BYTES_MAX
      ? { problem: t("domains.bytesMax", { max: APP_FILE_BYTES_MAX }) }
      : { file };
  } catch {
    return { problem: t("domains.notJson") };
  }
}

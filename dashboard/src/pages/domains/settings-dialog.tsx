/**
 * Changes a domain's responses where it has no link: the values of the form, their validation by
 * the API's rules, and the resulting request.
 */
import { useState } from "react";

import { type Domain, ShorthopError } from "../../../../clients/typescript/src/index.ts";
import {
  APP_FILE_BYTES_MAX,
  type ChangeDomainBody,
  changeDomainBody,
} from "../../../../shared/contracts/domain-settings.ts";
import {
  DEFAULT_REDIRECT_STATUS,
  REDIRECT_STATUSES,
} from "../../../../shared/contracts/redirect-status.ts";
import { trimInvisible } from "../../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../../shared/contracts/web-url.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { getErrorMessage } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { CheckField, Disclosure, SelectField, TextAreaField, TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import { describeIssue, describeRule } from "../../ui/validation.ts";

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

export function SettingsDialog({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const { scope } = useAccountContext();
  const [initial] = useState(() => toDomainValues(domain));
  const [values, setValues] = useState(initial);
  const [tried, setTried] = useState(false);
  const read = readDomainValues(initial, values);
  const save = useApiMutation(
    (body: ChangeDomainBody) =>
      getJson<Domain>(`${getBasePath(scope)}/v1/domains/${domain.id}`, { method: "PATCH", body }),
    {
      invalidate: [["domains", scope]],
      successMessage: t("domains.settingsSaved"),
      onSuccess: onClose,
    },
  );
  const apiErrors = fieldErrorsOf(save.error);
  const errors: DomainErrors = { ...(tried && "errors" in read ? read.errors : {}), ...apiErrors };
  const change = (part: Partial<DomainValues>) => {
    save.reset();
    setValues((before) => ({ ...before, ...part }));
  };
  return (
    <FormDialog
      title={t("domains.settingsOf", { domain: domain.domain })}
      action={t("links.form.save")}
      onSubmit={() => {
        setTried(true);
        if ("change" in read) save.mutate(read.change);
      }}
      onClose={onClose}
      task={{ isPending: save.isPending, error: apiErrors === undefined ? save.error : null }}
      wide
    >
      {URL_FIELDS.map((field) => (
        <TextField
          key={field}
          label={t(URL_TEXTS[field].label)}
          type="url"
          inputMode="url"
          hint={URL_TEXTS[field].hint(domain.domain)}
          error={errors[field]}
          value={values[field]}
          onChange={(event) => change({ [field]: event.target.value })}
        />
      ))}
      <StatusField
        value={values.redirectStatus}
        onChange={(redirectStatus) => change({ redirectStatus })}
      />
      <CheckField
        label={t("domains.ignoreCase")}
        hint={t("domains.ignoreCaseHint")}
        checked={values.ignoresCase}
        onChange={(event) => change({ ignoresCase: event.target.checked })}
      />
      <FileFields values={values} errors={errors} onChange={change} />
    </FormDialog>
  );
}

const StatusField = ({ value, onChange }: { value: string; onChange: (value: string) => void }) => (
  <SelectField
    label={t("links.form.redirectStatus")}
    hint={t("domains.redirectStatusHint")}
    options={REDIRECT_STATUSES.map((status) => ({
      value: statusToValue(status),
      label: t(`links.form.redirectStatuses.${status}`),
    }))}
    value={value}
    onChange={(event) => onChange(event.target.value)}
  />
);

/** The API's error by the field it names; undefined if it names none. */
function fieldErrorsOf(error: unknown): DomainErrors | undefined {
  if (!(error instanceof ShorthopError)) return undefined;
  const field = [...URL_FIELDS, ...FILE_FIELDS].find((name) => name === error.param);
  return field === undefined ? undefined : { [field]: getErrorMessage(error) };
}

const FileFields = ({
  values,
  errors,
  onChange,
}: {
  values: DomainValues;
  errors: DomainErrors;
  onChange: (part: Partial<DomainValues>) => void;
}) => (
  <Disclosure
    title={t("domains.files")}
    hasError={FILE_FIELDS.some((field) => errors[field] !== undefined)}
  >
    <div className="stack">
      <p className="hint">{t("domains.filesHint")}</p>
      {FILE_FIELDS.map((field) => (
        <TextAreaField
          key={field}
          label={t(FILE_TEXTS[field].label)}
          placeholder={FILE_TEXTS[field].placeholder}
          className="code"
          rows={6}
          spellCheck={false}
          error={errors[field]}
          value={values[field]}
          onChange={(event) => onChange({ [field]: event.target.value })}
        />
      ))}
    </div>
  </Disclosure>
);

/** The form of a domain's settings: its values, their validation, and the resulting request. */
const URL_FIELDS = ["root_url", "not_found_url", "expired_url"] as const;
const FILE_FIELDS = ["apple_app_site_association", "assetlinks"] as const;

type UrlField = (typeof URL_FIELDS)[number];
type FileField = (typeof FILE_FIELDS)[number];

type DomainValues = Record<UrlField | FileField, string> & {
  ignoresCase: boolean;
  /** "" for the usual one. */
  redirectStatus: string;
};

export const toDomainValues = (domain: Domain): DomainValues => ({
  root_url: domain.root_url ?? "",
  not_found_url: domain.not_found_url ?? "",
  expired_url: domain.expired_url ?? "",
  ignoresCase: domain.case_sensitive === false,
  redirectStatus: statusToValue(domain.redirect_status),
  apple_app_site_association: printFile(domain.apple_app_site_association),
  assetlinks: printFile(domain.assetlinks),
});

const statusToValue = (status: number | undefined): string =>
  status === undefined || status === DEFAULT_REDIRECT_STATUS ? "" : String(status);

const printFile = (file: unknown): string =>
  file === undefined ? "" : JSON.stringify(file, null, 2);

type DomainErrors = Partial<Record<keyof DomainValues, string>>;

/**
 * Returns the fields that differ from `before` as a request, or their problems by the API's rules.
 */
export function readDomainValues(
  before: DomainValues,
  after: DomainValues,
): { change: ChangeDomainBody } | { errors: DomainErrors } {
  const errors: DomainErrors = {};
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
  if (after.redirectStatus !== before.redirectStatus)
    body["redirect_status"] = after.redirectStatus === "" ? null : Number(after.redirectStatus);
  const parsed = changeDomainBody.safeParse(body, { error: describeIssue });
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = FILE_FIELDS.find((name) => name === path[0]);
    if (field !== undefined) errors[field] ??= describeRule(message);
  }
  return parsed.data === undefined || Object.keys(errors).length > 0
    ? { errors }
    : { change: parsed.data };
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

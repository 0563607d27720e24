/** Changes a domain's responses where it has no link. */
import { useState } from "react";

import { type Domain, ShorthopError } from "../../../../clients/typescript/src/index.ts";
import type { ChangeDomainBody } from "../../../../shared/contracts/domain-settings.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getJson } from "../../data/http.ts";
import { getBasePath } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { CheckField, TextAreaField, TextField } from "../../ui/field.tsx";
import { useApiMutation } from "../../ui/mutation.ts";
import {
  type DomainErrors,
  type DomainValues,
  FILE_FIELDS,
  readDomainValues,
  toDomainValues,
  URL_FIELDS,
} from "./settings-form.ts";

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
    <Dialog title={t("domains.settingsOf", { domain: domain.domain })} onClose={onClose} wide>
      <DialogForm
        action={t("links.form.save")}
        onSubmit={() => {
          setTried(true);
          if ("change" in read) save.mutate(read.change);
        }}
        onCancel={onClose}
        loading={save.isPending}
        error={apiErrors === undefined ? save.error : null}
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
        <CheckField
          label={t("domains.ignoreCase")}
          hint={t("domains.ignoreCaseHint")}
          checked={values.ignoresCase}
          onChange={(event) => change({ ignoresCase: event.target.checked })}
        />
        <FileFields values={values} errors={errors} onChange={change} />
      </DialogForm>
    </Dialog>
  );
}

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

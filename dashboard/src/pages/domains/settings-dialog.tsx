/** Changes a domain's responses where it has no link. */
import { useState } from "react";

import { type Domain, ShorthopError } from "../../../../clients/typescript/src/index.ts";
import type { ChangeDomainBody } from "../../../../shared/contracts/domain-settings.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { getBasePath, getJson } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
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
    label: "The domain itself redirects to",
    hint: (host: string) =>
      `The destination of ${host}/. Without one, visitors see that there is nothing.`,
  },
  not_found_url: {
    label: "Unknown short links redirect to",
    hint: () => "So do links that are disabled or have not started.",
  },
  expired_url: {
    label: "Expired links redirect to",
    hint: () => "Unless a link has its own destination for that.",
  },
} as const;

const FILE_TEXTS = {
  apple_app_site_association: {
    label: "For iOS: apple-app-site-association",
    placeholder: '{ "applinks": { "details": [] } }',
  },
  assetlinks: {
    label: "For Android: assetlinks.json",
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
      successMessage: "The settings have been saved.",
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
    <Dialog title={`Settings of ${domain.domain}`} onClose={onClose} wide>
      <DialogForm
        action="Save"
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
            label={URL_TEXTS[field].label}
            type="url"
            inputMode="url"
            hint={URL_TEXTS[field].hint(domain.domain)}
            error={errors[field]}
            value={values[field]}
            onChange={(event) => change({ [field]: event.target.value })}
          />
        ))}
        <CheckField
          label="Ignore the case of aliases"
          hint="/SummerSale and /summersale are the same link then."
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
    title="Files for apps"
    hasError={FILE_FIELDS.some((field) => errors[field] !== undefined)}
  >
    <div className="stack">
      <p className="hint">
        They let your apps open links of this domain. Each is served under /.well-known/.
      </p>
      {FILE_FIELDS.map((field) => (
        <TextAreaField
          key={field}
          label={FILE_TEXTS[field].label}
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

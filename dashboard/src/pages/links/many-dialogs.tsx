/** Dialogs that change the destination, UTM parameters, domain or password of many links. */
import { useState } from "react";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { UTM_EXAMPLES } from "../../../../shared/contracts/link-fields.ts";
import { newLinkBody } from "../../../../shared/contracts/link-schemas.ts";
import { UTM_NAMES, type UtmName } from "../../../../shared/contracts/query-string.ts";
import { useDomainOptions } from "../../data/account-lists.ts";
import { fieldName } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { CheckField, PasswordField, SelectField, TextField } from "../../ui/field.tsx";
import { validateWith } from "../../ui/validation.ts";
import { type BulkDialogProps, BulkForm, type BulkTask } from "./bulk-task.tsx";

export function ReplaceDialog(props: BulkDialogProps) {
  const { links } = props;
  const [find, setFind] = useState("");
  const [replacement, setReplacement] = useState("");
  const changed = findReplaced(links, find, replacement);
  const [example] = changed;
  function readTask(): BulkTask | undefined {
    if (changed.length === 0) return undefined;
    return {
      links: changed,
      verb: "changed",
      changeOf: (link) => ({ url: replaceIn(link.original_url, find, replacement) }),
    };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.many.replaceTitle", { count: links.length })}
      action={t("links.many.change", { count: changed.length })}
      readTask={readTask}
    >
      <TextField
        label={t("links.many.find")}
        hint={t("links.many.findHint")}
        autoCapitalize="none"
        spellCheck={false}
        value={find}
        onChange={({ target }) => setFind(target.value)}
      />
      <TextField
        label={t("links.many.replaceBy")}
        autoCapitalize="none"
        spellCheck={false}
        value={replacement}
        onChange={({ target }) => setReplacement(target.value)}
      />
      {find !== "" && (
        <div role="status">
          <p>{t("links.many.contain", { count: changed.length, total: links.length })}</p>
          {example !== undefined && (
            <p className="hint replaced">
              <del>{example.original_url}</del>{" "}
              <ins>{replaceIn(example.original_url, find, replacement)}</ins>
            </p>
          )}
        </div>
      )}
    </BulkForm>
  );
}

export function UtmDialog(props: BulkDialogProps) {
  const { links } = props;
  const [texts, setTexts] = useState(NO_UTM);
  const [removesEmpty, setRemovesEmpty] = useState(false);
  function readTask(): BulkTask | undefined {
    const change = toUtmChange(texts, removesEmpty);
    if (Object.keys(change).length === 0) return undefined;
    return { links, verb: "changed", changeOf: () => change };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.many.utmTitle", { count: links.length })}
      action={t("links.many.change", { count: links.length })}
      readTask={readTask}
    >
      {UTM_NAMES.map((name) => (
        <TextField
          key={name}
          label={fieldName(name)}
          placeholder={UTM_EXAMPLES[name]}
          maxLength={255}
          value={texts[name]}
          onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
        />
      ))}
      <CheckField
        label={t("links.many.removeEmpty")}
        hint={t("links.many.removeEmptyHint")}
        checked={removesEmpty}
        onChange={({ target }) => setRemovesEmpty(target.checked)}
      />
    </BulkForm>
  );
}

export function MoveDialog(props: BulkDialogProps) {
  const { links } = props;
  const options = useDomainOptions();
  const [chosen, setChosen] = useState<string>();
  // At first one to which links would move, if there is any.
  const elsewhere = options.find(({ value }) =>
    links.some((link) => (link.domain ?? "") !== value),
  );
  const domain = chosen ?? elsewhere?.value ?? "";
  const target = domain === "" ? null : domain;
  const moved = links.filter((link) => link.domain !== target);
  function readTask(): BulkTask | undefined {
    if (moved.length === 0) return undefined;
    return { links: moved, verb: "changed", changeOf: () => ({ domain: target }) };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.many.moveTitle", { count: links.length })}
      action={t("links.many.change", { count: moved.length })}
      readTask={readTask}
    >
      <SelectField
        label={t("links.form.domain")}
        hint={t(elsewhere === undefined ? "links.many.moveNowhere" : "links.many.moveHint")}
        options={options}
        value={domain}
        onChange={({ target: { value } }) => setChosen(value)}
      />
    </BulkForm>
  );
}

export function PasswordDialog(props: BulkDialogProps) {
  const { links } = props;
  const [text, setText] = useState("");
  const [removes, setRemoves] = useState(false);
  const [tried, setTried] = useState(false);
  const valid = text === "" ? t("ui.required") : validateWith(newLinkBody.shape.password)(text);
  const problem = removes || valid === true ? undefined : valid;
  function readTask(): BulkTask | undefined {
    setTried(true);
    if (problem !== undefined) return undefined;
    return { links, verb: "changed", changeOf: () => ({ password: removes ? null : text }) };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.many.passwordTitle", { count: links.length })}
      action={t("links.many.change", { count: links.length })}
      readTask={readTask}
    >
      {!removes && (
        <PasswordField
          label={t("links.form.newPassword")}
          hint={t("links.many.passwordHint")}
          autoComplete="new-password"
          value={text}
          error={tried ? problem : undefined}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      <CheckField
        label={t("links.form.removePassword")}
        checked={removes}
        onChange={({ target }) => setRemoves(target.checked)}
      />
    </BulkForm>
  );
}

/** Changes of many links that depend on what each link has. */
type UtmTexts = Readonly<Record<UtmName, string>>;

export const NO_UTM: UtmTexts = {
  utm_source: "",
  utm_medium: "",
  utm_campaign: "",
  utm_term: "",
  utm_content: "",
};

/** The change to typed UTM parameters: an empty one stays as it is, or is removed. */
export const toUtmChange = (texts: UtmTexts, removesEmpty: boolean): LinkChange =>
  Object.fromEntries(
    UTM_NAMES.flatMap((name) => {
      const value = texts[name].trim();
      const next = value === "" ? null : value;
      return next === null && !removesEmpty ? [] : [[name, next]];
    }),
  );

/** A destination with each occurrence of a text replaced; both texts are taken as they are. */
export const replaceIn = (url: string, find: string, replacement: string): string =>
  find === "" ? url : url.replaceAll(find, () => replacement);

/** The links whose destination a replacement changes. */
const findReplaced = (links: readonly Link[], find: string, replacement: string): Link[] =>
  links.filter(({ original_url: url }) => replaceIn(url, find, replacement) !== url);

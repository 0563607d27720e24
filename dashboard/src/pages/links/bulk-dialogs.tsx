/** Dialogs of bulk actions: their input, and the report of their outcome. */
import { type ReactNode, useState } from "react";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { ofEachUtm, UTM_NAMES, type UtmName } from "../../../../shared/contracts/analytics.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { UTM_EXAMPLES } from "../../../../shared/contracts/link-fields.ts";
import { newLinkBody, tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { useDomainOptions } from "../../data/account-lists.ts";
import { readList } from "../../data/complete-list.ts";
import { fieldName, validateWith } from "../../languages/errors.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import {
  CheckField,
  ChoiceField,
  PasswordField,
  SelectField,
  TagsField,
  TextField,
} from "../../ui/field.tsx";
import { toInstant } from "../../ui/local-time.ts";
import {
  type BulkDialogProps,
  BulkForm,
  BulkProgress,
  type BulkReport,
  type BulkTask,
  changeTags,
  useBulkTask,
} from "./bulk-task.tsx";

export type BulkDialogKind = "tags" | "expiry" | "delete" | "replace" | "utm" | "move" | "password";

/** Maximum links and tags that a dialog names; it counts the others. */
const NAMED_LINKS_MAX = 5;
const NAMED_TAGS_MAX = 50;

const DIALOGS: Readonly<Record<BulkDialogKind, (props: BulkDialogProps) => ReactNode>> = {
  tags: TagsDialog,
  expiry: ExpiryDialog,
  replace: ReplaceDialog,
  utm: UtmDialog,
  move: MoveDialog,
  password: PasswordDialog,
  delete: DeleteManyDialog,
};

export function BulkDialog({ kind, ...props }: BulkDialogProps & { kind: BulkDialogKind }) {
  const Chosen = DIALOGS[kind];
  return <Chosen {...props} />;
}

function TagsDialog(props: BulkDialogProps) {
  const { links, refresh } = props;
  const [text, setText] = useState("");
  const [remove, setRemove] = useState<readonly string[]>([]);
  const add = readList(text);
  const present = [...new Set(links.flatMap(({ tags }) => tags))].toSorted();
  const problem = add.map(validateWith(tagRule)).find((result) => result !== true);
  function readTask(): BulkTask | undefined {
    if (problem !== undefined || (add.length === 0 && remove.length === 0)) return undefined;
    return {
      links,
      // Keeps changes that other users have made since the links were shown.
      refresh,
      verb: "tagged",
      changeOf: ({ tags }) => ({ tags: changeTags(tags, { add, remove }) }),
    };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.bulk.tagsTitle", { count: links.length })}
      action={t("links.bulk.changeTags")}
      readTask={readTask}
    >
      <TagsField
        label={t("ui.add")}
        text={text}
        value={text}
        error={problem}
        onChange={(event) => setText(event.target.value)}
      />
      {present.length > 0 && (
        <fieldset>
          <legend>{t("ui.remove")}</legend>
          <div className="columns">
            {present.slice(0, NAMED_TAGS_MAX).map((tag) => (
              <CheckField
                key={tag}
                label={tag}
                checked={remove.includes(tag)}
                onChange={({ target: { checked } }) =>
                  setRemove(checked ? [...remove, tag] : remove.filter((other) => other !== tag))
                }
              />
            ))}
          </div>
          {present.length > NAMED_TAGS_MAX && (
            <p className="hint">
              {t("links.bulk.firstTags", { max: NAMED_TAGS_MAX, total: present.length })}
            </p>
          )}
        </fieldset>
      )}
    </BulkForm>
  );
}

function ExpiryDialog(props: BulkDialogProps) {
  const { links } = props;
  const [choice, setChoice] = useState<"at" | "never">("at");
  const [at, setAt] = useState("");
  const [tried, setTried] = useState(false);
  const problem = choice === "never" ? undefined : expiryProblem(at, Date.now());
  function readTask(): BulkTask | undefined {
    setTried(true);
    if (problem !== undefined) return undefined;
    const expires_at = choice === "never" ? null : toInstant(at);
    return { links, verb: "changed", changeOf: () => ({ expires_at }) };
  }
  return (
    <BulkForm
      {...props}
      title={t("links.bulk.expiryTitle", { count: links.length })}
      action={t("links.bulk.setExpiry")}
      readTask={readTask}
    >
      <ChoiceField
        label={t("links.bulk.theyExpire")}
        options={[
          { value: "at", label: t("links.bulk.atTime") },
          { value: "never", label: t("ui.never") },
        ]}
        value={choice}
        onChoose={setChoice}
      />
      {choice === "at" && (
        <TextField
          label={t("ui.expires")}
          type="datetime-local"
          hint={t("links.form.localTime")}
          value={at}
          error={tried ? problem : undefined}
          onChange={(event) => setAt(event.target.value)}
        />
      )}
    </BulkForm>
  );
}

function expiryProblem(local: string, now: number): string | undefined {
  if (local === "") return t("ui.required");
  const at = Date.parse(toInstant(local));
  // Comparisons with an invalid date are false.
  return at > now ? undefined : t("links.form.future");
}

function DeleteManyDialog({ links, onClose, onReport }: BulkDialogProps) {
  const task = useBulkTask(onReport, { showsError: true });
  const others = links.length - NAMED_LINKS_MAX;
  return (
    <ConfirmDialog
      title={t("links.bulk.deleteTitle", { count: links.length })}
      action={t("links.bulk.deleteAction", { count: links.length })}
      onClose={onClose}
      task={{
        ...task,
        mutate: () =>
          task.mutate(
            { links, verb: "deleted" },
            { onSuccess: (outcome) => onReport({ ...outcome, verb: "deleted" }) },
          ),
      }}
    >
      <ul className="rows">
        {links.slice(0, NAMED_LINKS_MAX).map((link) => (
          <li key={link.id}>{readableUrl(link.short_url)}</li>
        ))}
        {others > 0 && <li>{t("links.bulk.others", { count: others })}</li>}
      </ul>
      <p>{t("links.bulk.deleteText")}</p>
      <BulkProgress task={task} />
    </ConfirmDialog>
  );
}

/** The outcome for each link that failed. */
export function ReportDialog({ report, onClose }: { report: BulkReport; onClose: () => void }) {
  const { done, failed, verb } = report;
  return (
    <Dialog
      title={t(`links.bulk.partly.${verb}`, {
        done: done.length,
        total: done.length + failed.length,
      })}
      onClose={onClose}
    >
      <p className="alert" role="alert">
        {t("links.bulk.asBefore", { count: failed.length })}
      </p>
      <ul className="rows report">
        {failed.map(({ link, reason }) => (
          <li key={link.id}>
            <strong>{readableUrl(link.short_url)}</strong>
            <span>{reason}</span>
          </li>
        ))}
      </ul>
      <footer>
        <Button variant="primary" onClick={onClose}>
          {t("ui.close")}
        </Button>
      </footer>
    </Dialog>
  );
}

function ReplaceDialog(props: BulkDialogProps) {
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

function UtmDialog(props: BulkDialogProps) {
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

function MoveDialog(props: BulkDialogProps) {
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
        label={t("fields.domain")}
        hint={t(elsewhere === undefined ? "links.many.moveNowhere" : "links.many.moveHint")}
        options={options}
        value={domain}
        onChange={({ target: { value } }) => setChosen(value)}
      />
    </BulkForm>
  );
}

function PasswordDialog(props: BulkDialogProps) {
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
          label={t("settings.profile.newPassword")}
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

type UtmTexts = Readonly<Record<UtmName, string>>;

export const NO_UTM: UtmTexts = ofEachUtm(() => "");

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

const findReplaced = (links: readonly Link[], find: string, replacement: string): Link[] =>
  links.filter(({ original_url: url }) => replaceIn(url, find, replacement) !== url);

/** Dialogs of bulk actions: their input, and the report of their outcome. */
import { type ReactNode, useState } from "react";

import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { readList } from "../../data/complete-list.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import { CheckField, ChoiceField, TagsField, TextField } from "../../ui/field.tsx";
import { toInstant } from "../../ui/local-time.ts";
import { validateWith } from "../../ui/validation.ts";
import {
  type BulkDialogProps,
  BulkForm,
  BulkProgress,
  type BulkReport,
  type BulkTask,
  changeTags,
  useBulkTask,
} from "./bulk-task.tsx";
import { MoveDialog, PasswordDialog, ReplaceDialog, UtmDialog } from "./many-dialogs.tsx";

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
        label={t("links.bulk.add")}
        text={text}
        value={text}
        error={problem}
        onChange={(event) => setText(event.target.value)}
      />
      {present.length > 0 && (
        <fieldset>
          <legend>{t("links.bulk.remove")}</legend>
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
          { value: "never", label: t("links.bulk.never") },
        ]}
        value={choice}
        onChoose={setChoice}
      />
      {choice === "at" && (
        <TextField
          label={t("links.form.expires")}
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

/** Dialogs of bulk actions: their input, and the report of their outcome. */
import { useState } from "react";

import type { ListedLink } from "../../../../clients/typescript/src/index.ts";
import { tag as tagRule } from "../../../../shared/contracts/link-schemas.ts";
import { readableUrl } from "../../../../shared/contracts/readable-host.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog, DialogForm } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { pluralize } from "../../ui/format.ts";
import { toInstant } from "../../ui/local-time.ts";
import { validateWith } from "../../ui/validation.ts";
import { type BulkOutcome, changeTags, readTags } from "./bulk.ts";
import { TagsField } from "./tags-field.tsx";
import { type BulkReport, useBulkTask } from "./use-bulk-task.ts";

export type BulkDialogKind = "tags" | "expiry" | "delete";

type BulkDialogProps = {
  links: readonly ListedLink[];
  /** Fetches the links again, so that a change starts from their current state. */
  refresh: (links: readonly ListedLink[]) => Promise<readonly ListedLink[]>;
  onClose: () => void;
  onReport: (report: BulkReport) => void;
};

/** Maximum links and tags that a dialog names; it counts the others. */
const NAMED_LINKS_MAX = 5;
const NAMED_TAGS_MAX = 50;

/** A report replaces the dialog if some links failed. */
const closeUnlessFailed =
  (onClose: () => void) =>
  ({ failed }: BulkOutcome): void => {
    if (failed.length === 0) onClose();
  };

export function BulkDialog({ kind, ...props }: BulkDialogProps & { kind: BulkDialogKind }) {
  if (kind === "tags") return <TagsDialog {...props} />;
  return kind === "expiry" ? <ExpiryDialog {...props} /> : <DeleteManyDialog {...props} />;
}

function TagsDialog({ links, refresh, onClose, onReport }: BulkDialogProps) {
  const task = useBulkTask(onReport, { showsError: true });
  const [text, setText] = useState("");
  const [remove, setRemove] = useState<readonly string[]>([]);
  const add = readTags(text);
  const present = [...new Set(links.flatMap(({ tags }) => tags))].toSorted();
  const problem = add.map(validateWith(tagRule)).find((result) => result !== true);
  function submit(): void {
    if (problem !== undefined || (add.length === 0 && remove.length === 0)) return;
    task.mutate(
      {
        links,
        // Keeps changes that other users have made since the links were shown.
        refresh,
        verb: "tagged",
        changeOf: ({ tags }) => ({ tags: changeTags(tags, { add, remove }) }),
      },
      { onSuccess: closeUnlessFailed(onClose) },
    );
  }
  return (
    <Dialog title={`Tags of ${pluralize(links.length, "link")}`} onClose={onClose}>
      <DialogForm
        action="Change tags"
        onSubmit={submit}
        onCancel={onClose}
        loading={task.isPending}
        error={task.error}
      >
        <TagsField
          label="Add"
          text={text}
          value={text}
          error={problem}
          onChange={(event) => setText(event.target.value)}
        />
        {present.length > 0 && (
          <fieldset>
            <legend>Remove</legend>
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
                The first {NAMED_TAGS_MAX} of {present.length}; select fewer links for the others.
              </p>
            )}
          </fieldset>
        )}
      </DialogForm>
    </Dialog>
  );
}

function ExpiryDialog({ links, onClose, onReport }: BulkDialogProps) {
  const task = useBulkTask(onReport, { showsError: true });
  const [choice, setChoice] = useState<"at" | "never">("at");
  const [at, setAt] = useState("");
  const [tried, setTried] = useState(false);
  const problem = choice === "never" ? undefined : expiryProblem(at, Date.now());
  function submit(): void {
    setTried(true);
    if (problem !== undefined) return;
    const expires_at = choice === "never" ? null : toInstant(at);
    task.mutate(
      { links, verb: "changed", changeOf: () => ({ expires_at }) },
      { onSuccess: closeUnlessFailed(onClose) },
    );
  }
  return (
    <Dialog title={`Expiry of ${pluralize(links.length, "link")}`} onClose={onClose}>
      <DialogForm
        action="Set expiry"
        onSubmit={submit}
        onCancel={onClose}
        loading={task.isPending}
        error={task.error}
      >
        <SelectField
          label="They expire"
          options={[
            { value: "at", label: "At a time" },
            { value: "never", label: "Never" },
          ]}
          value={choice}
          onChange={(event) => setChoice(event.target.value === "never" ? "never" : "at")}
        />
        {choice === "at" && (
          <TextField
            label="Expires"
            type="datetime-local"
            hint="In your local time."
            value={at}
            error={tried ? problem : undefined}
            onChange={(event) => setAt(event.target.value)}
          />
        )}
      </DialogForm>
    </Dialog>
  );
}

function expiryProblem(local: string, now: number): string | undefined {
  if (local === "") return "Required";
  const at = Date.parse(toInstant(local));
  // Comparisons with an invalid date are false.
  return at > now ? undefined : "Must be in the future";
}

function DeleteManyDialog({ links, onClose, onReport }: BulkDialogProps) {
  const task = useBulkTask(onReport, { showsError: true });
  const others = links.length - NAMED_LINKS_MAX;
  return (
    <ConfirmDialog
      title={`Delete ${pluralize(links.length, "link")}?`}
      action={`Delete ${pluralize(links.length, "link")}`}
      onClose={onClose}
      onConfirm={() =>
        task.mutate({ links, verb: "deleted" }, { onSuccess: closeUnlessFailed(onClose) })
      }
      loading={task.isPending}
      error={task.error}
    >
      <ul className="rows">
        {links.slice(0, NAMED_LINKS_MAX).map((link) => (
          <li key={link.id}>{readableUrl(link.short_url)}</li>
        ))}
        {others > 0 && <li>and {pluralize(others, "other")}</li>}
      </ul>
      <p>
        They stop redirecting immediately, and others can take their aliases. This cannot be undone.
        Archive links to keep them out of the list.
      </p>
    </ConfirmDialog>
  );
}

/** The outcome for each link that failed. */
export function ReportDialog({ report, onClose }: { report: BulkReport; onClose: () => void }) {
  const { done, failed, verb } = report;
  return (
    <Dialog
      title={`${done.length} of ${done.length + failed.length} links ${verb}`}
      onClose={onClose}
    >
      <p className="alert" role="alert">
        {failed.length === 1 ? "One link is" : `${failed.length} links are`} as before, and still
        selected:
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
          Close
        </Button>
      </footer>
    </Dialog>
  );
}

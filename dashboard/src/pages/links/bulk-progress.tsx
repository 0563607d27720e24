/** What the dialogs of bulk actions have in common. */
import type { Link } from "../../../../clients/typescript/src/index.ts";
import { t } from "../../languages/translate.ts";
import type { BulkOutcome } from "./bulk.ts";
import type { BulkReport, BulkTaskState } from "./use-bulk-task.ts";

export type BulkDialogProps = {
  links: readonly Link[];
  /** Fetches the links again, so that a change starts from their current state. */
  refresh: (links: readonly Link[]) => Promise<readonly Link[]>;
  onClose: () => void;
  /** Closes the dialog, and keeps only what failed selected. */
  onReport: (report: BulkReport) => void;
};

/** A report replaces the dialog if some links failed. */
export const closeUnlessFailed =
  (onClose: () => void) =>
  ({ failed }: BulkOutcome): void => {
    if (failed.length === 0) onClose();
  };

/** How far a task of several requests is. */
export function BulkProgress({ task: { progress } }: { task: BulkTaskState }) {
  if (progress === undefined) return null;
  const { done, total } = progress;
  return (
    <label className="progress">
      {t("links.many.progress", { done, total })}
      <progress value={done} max={total} />
    </label>
  );
}

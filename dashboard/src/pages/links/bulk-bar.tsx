/** Selects the links that are shown, and offers actions for the selected ones. */
import { Archive, ArchiveRestore, CalendarClock, Download, Tags, Trash2, X } from "lucide-react";
import { useEffect, useRef } from "react";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { toast } from "../../ui/toast.tsx";
import type { BulkDialogKind } from "./bulk-dialogs.tsx";

type BulkBarProps = {
  shown: readonly Link[];
  selected: readonly Link[];
  onSelectAll: (on: boolean) => void;
  onDialog: (kind: BulkDialogKind) => void;
  onArchive: (archived: boolean) => void;
};

export function BulkBar(props: BulkBarProps) {
  const { shown, selected, onSelectAll } = props;
  const box = useRef<HTMLInputElement>(null);
  const all = selected.length === shown.length;
  useEffect(() => {
    // Some but not all: HTML has no attribute for this state.
    if (box.current !== null) box.current.indeterminate = selected.length > 0 && !all;
  }, [selected.length, all]);
  return (
    // The focus stays here when the actions disappear with the selection.
    <div className="bulk-bar" role="group" aria-label={t("links.bulk.bar")} tabIndex={-1}>
      <label className="check">
        <input
          ref={box}
          type="checkbox"
          aria-label={t("links.bulk.selectPage")}
          checked={all}
          onChange={({ target }) => onSelectAll(target.checked)}
        />
        <span aria-live="polite">
          {selected.length === 0
            ? t("links.bulk.selectAll")
            : t("links.bulk.selected", { count: selected.length })}
        </span>
      </label>
      {selected.length > 0 && <BulkActions {...props} />}
    </div>
  );
}

function BulkActions({ selected, onSelectAll, onDialog, onArchive }: BulkBarProps) {
  const canWrite = useCanWrite();
  const areArchived = selected.every(({ archived }) => archived === true);
  async function exportCsv(): Promise<void> {
    const [{ saveCsv }, { toCsvRow }] = await Promise.all([
      import("../../data/csv.ts"),
      import("./link-csv.ts"),
    ]);
    saveCsv(selected.map(toCsvRow), t("links.bulk.fileName", { count: selected.length }));
  }
  return (
    <div className="bulk-actions">
      {canWrite && (
        <>
          <Button variant="quiet" onClick={() => onDialog("tags")}>
            <Tags aria-hidden /> {t("links.bulk.tags")}
          </Button>
          <Button variant="quiet" onClick={() => onDialog("expiry")}>
            <CalendarClock aria-hidden /> {t("links.bulk.expiry")}
          </Button>
          <Button variant="quiet" onClick={() => onArchive(!areArchived)}>
            {areArchived ? <ArchiveRestore aria-hidden /> : <Archive aria-hidden />}
            {areArchived ? t("links.actions.unarchive") : t("links.actions.archive")}
          </Button>
        </>
      )}
      <Button
        variant="quiet"
        onClick={() =>
          void exportCsv().catch((error: unknown) => toast(getErrorMessage(error), "error"))
        }
      >
        <Download aria-hidden /> {t("links.bulk.csv")}
      </Button>
      {canWrite && (
        <Button variant="quiet" className="bulk-delete" onClick={() => onDialog("delete")}>
          <Trash2 aria-hidden /> {t("links.actions.delete")}
        </Button>
      )}
      <Button variant="quiet" onClick={() => onSelectAll(false)}>
        <X aria-hidden /> {t("links.bulk.clear")}
      </Button>
    </div>
  );
}

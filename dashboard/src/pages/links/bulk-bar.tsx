/** Selects the links that are shown, and offers actions for the selected ones. */
import {
  Archive,
  ArchiveRestore,
  CalendarClock,
  CircleCheck,
  CircleOff,
  Download,
  Globe,
  KeyRound,
  Replace,
  Tags,
  Target,
  Trash2,
  X,
} from "lucide-react";
import { useEffect, useRef } from "react";

import type { Link, LinkChange } from "../../../../clients/typescript/src/index.ts";
import { useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button } from "../../ui/button.tsx";
import { type Action, ActionMenu } from "../../ui/menu.tsx";
import { toastError } from "../../ui/toast.tsx";
import type { BulkDialogKind } from "./bulk-dialogs.tsx";
import { BulkProgress, type BulkTaskState, type BulkVerb } from "./bulk-task.tsx";

type BulkBarProps = {
  shown: readonly Link[];
  selected: readonly Link[];
  onSelectAll: (on: boolean) => void;
  onDialog: (kind: BulkDialogKind) => void;
  onChange: (change: LinkChange, verb: BulkVerb) => void;
  /** Selects the links beyond the page as well; undefined when there are none. */
  onSelectMatching: (() => void) | undefined;
  /** Links that are found so far, while those beyond the page are fetched. */
  found: number | undefined;
  task: BulkTaskState;
};

export function BulkBar(props: BulkBarProps) {
  const { shown, selected, onSelectAll } = props;
  const box = useRef<HTMLInputElement>(null);
  const ids = new Set(selected.map(({ id }) => id));
  const all = shown.every(({ id }) => ids.has(id));
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
      {all && <MatchingButton {...props} />}
      {selected.length > 0 && <BulkActions {...props} />}
      <BulkProgress task={props.task} />
    </div>
  );
}

function MatchingButton({ onSelectMatching, found }: BulkBarProps) {
  if (found !== undefined) {
    return <span role="status">{t("links.many.found", { count: found })}</span>;
  }
  if (onSelectMatching === undefined) return null;
  return (
    <Button variant="quiet" onClick={onSelectMatching}>
      {t("links.many.selectMatching")}
    </Button>
  );
}

function BulkActions({ selected, onSelectAll, onDialog, onChange }: BulkBarProps) {
  const canWrite = useCanWrite();
  const areArchived = selected.every(({ archived }) => archived === true);
  async function exportCsv(): Promise<void> {
    const { saveCsv, toCsvRow } = await import("../../data/csv.ts");
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
          <Button
            variant="quiet"
            onClick={() =>
              onChange({ archived: !areArchived }, areArchived ? "unarchived" : "archived")
            }
          >
            {areArchived ? <ArchiveRestore aria-hidden /> : <Archive aria-hidden />}
            {areArchived ? t("links.actions.unarchive") : t("links.actions.archive")}
          </Button>
        </>
      )}
      <Button variant="quiet" onClick={() => void exportCsv().catch(toastError)}>
        <Download aria-hidden /> {t("links.bulk.csv")}
      </Button>
      {canWrite && (
        <Button variant="quiet" className="bulk-delete" onClick={() => onDialog("delete")}>
          <Trash2 aria-hidden /> {t("links.actions.delete")}
        </Button>
      )}
      {canWrite && (
        <ActionMenu label={t("links.many.more")} actions={moreActions(onDialog, onChange)} />
      )}
      <Button variant="quiet" onClick={() => onSelectAll(false)}>
        <X aria-hidden /> {t("links.bulk.clear")}
      </Button>
    </div>
  );
}

const moreActions = (
  onDialog: BulkBarProps["onDialog"],
  onChange: BulkBarProps["onChange"],
): Action[] => [
  {
    label: t("links.many.replace"),
    icon: <Replace aria-hidden />,
    onSelect: () => onDialog("replace"),
  },
  { label: t("links.form.utm"), icon: <Target aria-hidden />, onSelect: () => onDialog("utm") },
  { label: t("links.many.move"), icon: <Globe aria-hidden />, onSelect: () => onDialog("move") },
  {
    label: t("links.form.password"),
    icon: <KeyRound aria-hidden />,
    onSelect: () => onDialog("password"),
  },
  {
    label: t("links.actions.enable"),
    icon: <CircleCheck aria-hidden />,
    onSelect: () => onChange({ disabled: false }, "enabled"),
  },
  {
    label: t("links.actions.disable"),
    icon: <CircleOff aria-hidden />,
    onSelect: () => onChange({ disabled: true }, "disabled"),
  },
];

/** The links of a page, with actions for one of them and for several. */
import { lazy, Suspense, useState } from "react";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import type { SearchUpdate } from "../../ui/search-state.ts";
import { useStable } from "../../ui/use-stable.ts";
import { BulkBar } from "./bulk-bar.tsx";
import type { BulkDialogKind } from "./bulk-dialogs.tsx";
import { LinkDialog, type LinkDialogKind } from "./link-dialog.tsx";
import { addTag, type ListQuery } from "./list-query.ts";
import type { RowActions } from "./row-actions.tsx";
import { NOTHING, select, selectedOf } from "./selection.ts";
import { LinkTable } from "./table.tsx";
import { type BulkReport, useBulkTask } from "./use-bulk-task.ts";

const loadDialogs = () => import("./dialogs.ts");

const BulkDialog = lazy(async () => ({ default: (await loadDialogs()).BulkDialog }));
const ReportDialog = lazy(async () => ({ default: (await loadDialogs()).ReportDialog }));

/** The open dialog, with its links. */
type OpenDialog =
  | { kind: "link"; of: LinkDialogKind; link: Link }
  | { kind: "bulk"; of: BulkDialogKind; links: readonly Link[] }
  | { kind: "report"; report: BulkReport };

type LinkListProps = {
  /** Identifies the list, its filters and its page. */
  id: string;
  links: readonly Link[];
  /** When they were fetched, in Unix milliseconds. */
  fetchedAt: number;
  query: ListQuery;
  /** Fetches the links of the page again. */
  refresh: () => Promise<readonly Link[]>;
  onChange: (update: SearchUpdate) => void;
};

export function LinkList({ id, links, fetchedAt, query, refresh, onChange }: LinkListProps) {
  const [selection, setSelection] = useState(NOTHING);
  const [dialog, setDialog] = useState<OpenDialog>();
  const selected = selectedOf(selection, id, links);
  function report(report: BulkReport): void {
    setDialog({ kind: "report", report });
    const failed = report.failed.map(({ link }) => link);
    setSelection(select(NOTHING, id, failed, true));
  }
  const task = useBulkTask(report);
  const close = () => setDialog(undefined);
  const selectOne = useStable((link: Link, on: boolean) =>
    setSelection(select(selection, id, [link], on)),
  );
  const filterByTag = useStable((tag: string) => onChange(addTag(query, tag)));
  const openDialog = useStable((of: LinkDialogKind, link: Link) =>
    setDialog({ kind: "link", of, link }),
  );
  const changeOne = useStable<Parameters<RowActions["onChange"]>, void>((link, change, verb) =>
    task.mutate({ links: [link], verb, changeOf: () => change }),
  );
  return (
    <>
      <BulkBar
        shown={links}
        selected={selected}
        onSelectAll={(on) => setSelection(select(selection, id, links, on))}
        onDialog={(of) => setDialog({ kind: "bulk", of, links: selected })}
        onArchive={(archived) =>
          task.mutate({
            links: selected,
            verb: archived ? "archived" : "unarchived",
            changeOf: () => ({ archived }),
          })
        }
      />
      <LinkTable
        links={links}
        fetchedAt={fetchedAt}
        selected={selected}
        sort={query.sort}
        order={query.order}
        onSort={(sort, order) => onChange({ sort, order })}
        onSelect={selectOne}
        onTag={filterByTag}
        onDialog={openDialog}
        onChange={changeOne}
      />
      {dialog?.kind === "link" && (
        <LinkDialog kind={dialog.of} link={dialog.link} onClose={close} />
      )}
      <Suspense>
        {dialog?.kind === "bulk" && (
          <BulkDialog
            kind={dialog.of}
            links={dialog.links}
            refresh={async (before) => {
              const current = new Map((await refresh()).map((link) => [link.id, link]));
              return before.map((link) => current.get(link.id) ?? link);
            }}
            onClose={close}
            onReport={report}
          />
        )}
        {dialog?.kind === "report" && <ReportDialog report={dialog.report} onClose={close} />}
      </Suspense>
    </>
  );
}

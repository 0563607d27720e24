/** The links of a page, with actions for one of them and for several. */
import { lazy, Suspense, useState } from "react";

import type { Link } from "../../../../clients/typescript/src/index.ts";
import { getErrorMessage } from "../../data/errors.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import type { SearchUpdate } from "../../ui/search-state.ts";
import { toast } from "../../ui/toast.tsx";
import { useStable } from "../../ui/use-stable.ts";
import { BulkBar } from "./bulk-bar.tsx";
import type { BulkDialogKind } from "./bulk-dialogs.tsx";
import { LinkDialog, type LinkDialogKind } from "./link-dialog.tsx";
import { addTag, type ListQuery } from "./list-query.ts";
import { fetchMatching, MATCHING_MAX } from "./list.ts";
import type { RowActions } from "./row-actions.tsx";
import { NOTHING, select, selectedOf, selectExactly, type Selection } from "./selection.ts";
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
  /** Whether the list has links beyond the page. */
  hasMore: boolean;
  /** Fetches the links of the page again. */
  refresh: () => Promise<readonly Link[]>;
  onChange: (update: SearchUpdate) => void;
};

export function LinkList(props: LinkListProps) {
  const { id, links, fetchedAt, query, hasMore, refresh, onChange } = props;
  const [selection, setSelection] = useState<Selection<Link>>(NOTHING);
  const matching = useMatching(query, (all) => setSelection(selectExactly(id, all)));
  const [dialog, setDialog] = useState<OpenDialog>();
  const selected = selectedOf(selection, id, links);
  const canSelectMore = hasMore && selected.length <= links.length;
  const close = () => setDialog(undefined);
  /** Keeps what failed selected, and says why; without any, closes the dialog. */
  function report(report: BulkReport): void {
    setDialog(report.failed.length === 0 ? undefined : { kind: "report", report });
    setSelection(selectExactly(id, linksOf(report.failed)));
  }
  const refreshSelected = async (before: readonly Link[]) =>
    toCurrent(before, await (before.length > links.length ? matching.fetch() : refresh()));
  const task = useBulkTask(report);
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
        onSelectAll={(on) => setSelection(on ? select(selection, id, links, on) : NOTHING)}
        onSelectMatching={canSelectMore ? () => void matching.select() : undefined}
        found={matching.found}
        task={task}
        onDialog={(of) => setDialog({ kind: "bulk", of, links: selected })}
        onChange={(change, verb) => task.mutate({ links: selected, verb, changeOf: () => change })}
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
            refresh={refreshSelected}
            onClose={close}
            onReport={report}
          />
        )}
        {dialog?.kind === "report" && <ReportDialog report={dialog.report} onClose={close} />}
      </Suspense>
    </>
  );
}

/** The links that failed. */
const linksOf = (failed: BulkReport["failed"]): Link[] => failed.map(({ link }) => link);

/** The links as they are now; as they were, where they are not among those that were fetched. */
function toCurrent(before: readonly Link[], now: readonly Link[]): Link[] {
  const current = new Map(now.map((link) => [link.id, link]));
  return before.map((link) => current.get(link.id) ?? link);
}

/** Fetches all links that match the query of a list. */
function useMatching(query: ListQuery, onFound: (links: readonly Link[]) => void) {
  const { scope } = useAccountContext();
  const [found, setFound] = useState<number>();
  return {
    found,
    fetch: async () => (await fetchMatching(scope, query, () => {})).links,
    async select() {
      setFound(0);
      try {
        const { links, isComplete } = await fetchMatching(scope, query, setFound);
        onFound(links);
        if (!isComplete) toast(t("links.many.onlyFirst", { max: MATCHING_MAX }));
      } catch (error) {
        toast(getErrorMessage(error), "error");
      } finally {
        setFound(undefined);
      }
    },
  };
}

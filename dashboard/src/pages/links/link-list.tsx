/** The links of a page: fetches them, and runs actions for one of them and for several. */
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
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

import type { Link, LinkChange, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { getClient, getJson } from "../../data/http.ts";
import type { AccountScope, SearchUpdate } from "../../data/scope.ts";
import { useAccountContext, useCanWrite } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { Button, useDialog } from "../../ui/button.tsx";
import { type Action, ActionMenu } from "../../ui/menu.tsx";
import { toast, useToastError } from "../../ui/toast.tsx";
import type { BulkDialogKind } from "./bulk-dialogs.tsx";
import {
  BulkProgress,
  type BulkReport,
  type BulkTaskState,
  type BulkVerb,
  useBulkTask,
} from "./bulk-task.tsx";
import { BulkDialog, type LinkDialog, ReportDialog } from "./lazy-dialogs.tsx";
import { addTag, listPath, type ListQuery, toApiQuery } from "./list-query.ts";
import { LinkTable } from "./table.tsx";

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
  const { open, close, dialog } = useDialog();
  const selected = selectedOf(selection, id, links);
  const canSelectMore = hasMore && selected.length <= links.length;
  /** Keeps what failed selected, and says why; without any, closes the dialog. */
  function report(report: BulkReport): void {
    const { failed } = report;
    if (failed.length === 0) close();
    else open((close) => <ReportDialog report={report} onClose={close} />);
    setSelection(
      selectExactly(
        id,
        failed.map(({ link }) => link),
      ),
    );
  }
  const refreshSelected = async (before: readonly Link[]) =>
    toCurrent(before, await (before.length > links.length ? matching.fetch() : refresh()));
  const task = useBulkTask(report);
  const selectOne = useStable((link: Link, on: boolean) =>
    setSelection(select(selection, id, [link], on)),
  );
  const filterByTag = useStable((tag: string) => onChange(addTag(query, tag)));
  const openDialog = useStable((Dialog: LinkDialog, link: Link) =>
    open((close) => <Dialog link={link} onClose={close} />),
  );
  const changeOne = useStable((link: Link, change: LinkChange, verb: BulkVerb) =>
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
        onDialog={(kind) =>
          open((close) => (
            <BulkDialog
              kind={kind}
              links={selected}
              refresh={refreshSelected}
              onClose={close}
              onReport={report}
            />
          ))
        }
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
      {dialog}
    </>
  );
}

/** The links as they are now; as they were, where they are not among those that were fetched. */
function toCurrent(before: readonly Link[], now: readonly Link[]): Link[] {
  const current = new Map(now.map((link) => [link.id, link]));
  return before.map((link) => current.get(link.id) ?? link);
}

function useMatching(query: ListQuery, onFound: (links: readonly Link[]) => void) {
  const { scope } = useAccountContext();
  const toastError = useToastError();
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
        toastError(error);
      } finally {
        setFound(undefined);
      }
    },
  };
}

/**
 * `next` is the cursor of the next page; null at the end of the list. `fetchedAt` is when it was
 * complete, in Unix milliseconds of this device.
 */
export type LinkPage = { links: Link[]; next: string | null; fetchedAt: number };

/**
 * Maximum requests per page. One request examines a bounded number of links, so a page of rare
 * matches can take several.
 */
const REQUESTS_MAX = 10;

/**
 * Fetches the links after a cursor, "" for the start. A page is short at the end of the list, or if
 * matches are so rare that the requests found no more.
 */
export async function fetchLinkPage(
  scope: AccountScope,
  query: ListQuery,
  after: string,
  signal: AbortSignal,
): Promise<LinkPage> {
  const links: Link[] = [];
  let next: string | null = after;
  for (let i = 0; i < REQUESTS_MAX && next !== null && links.length < query.limit; i++) {
    const path = listPath(scope, query, query.limit - links.length, next);
    const part: ResponseBody<"listLinks"> = await getJson(path, { signal });
    links.push(...part.data);
    next = part.next_cursor;
  }
  return { links, next, fetchedAt: Date.now() };
}

/** Maximum links that can be selected at once: each is kept, and sent with its change. */
const MATCHING_MAX = 10_000;

/** Links of one request, the API's maximum; so often the number of links found is said. */
const PART_SIZE = 100;

/** Fetches the links that match, up to the maximum; calls a function with how many there are. */
async function fetchMatching(
  scope: AccountScope,
  query: ListQuery,
  onProgress: (count: number) => void,
): Promise<{ links: Link[]; isComplete: boolean }> {
  const links: Link[] = [];
  const selected = { ...toApiQuery(query), include: "settings", limit: PART_SIZE } as const;
  for await (const link of getClient(scope).links.all(selected)) {
    if (links.length === MATCHING_MAX) return { links, isComplete: false };
    links.push(link);
    if (links.length % PART_SIZE === 0) onProgress(links.length);
  }
  return { links, isComplete: true };
}

/** `list` identifies the displayed list: on another list nothing is selected. */
export type Selection<Link> = {
  list: string;
  ids: ReadonlySet<string>;
  /** Selected links that the page does not show, as they were when they were selected. */
  beyond: readonly Link[];
};

export const NOTHING = { list: "", ids: new Set<string>(), beyond: [] };

/** Returns the selected links: those displayed in their order, then those beyond the page. */
export function selectedOf<Link extends { id: string }>(
  { list, ids, beyond }: Selection<Link>,
  shownList: string,
  shown: readonly Link[],
): Link[] {
  if (list !== shownList) return [];
  const isShown = new Set(shown.map(({ id }) => id));
  return [...shown.filter(({ id }) => ids.has(id)), ...beyond.filter(({ id }) => !isShown.has(id))];
}

/** Selects or deselects links of a list; drops a selection of another list. */
export function select<Link extends { id: string }>(
  { list, ids, beyond }: Selection<Link>,
  shownList: string,
  changed: readonly { id: string }[],
  on: boolean,
): Selection<Link> {
  const next = new Set(list === shownList ? ids : []);
  for (const { id } of changed) {
    if (on) next.add(id);
    else next.delete(id);
  }
  return { list: shownList, ids: next, beyond: list === shownList ? beyond : [] };
}

/** Selects exactly these links, whether the page shows them or not. */
export const selectExactly = <Link extends { id: string }>(
  list: string,
  links: readonly Link[],
): Selection<Link> => ({ list, ids: new Set(links.map(({ id }) => id)), beyond: links });

/**
 * Returns a function that stays the same and calls the latest `handler`: a handler of events that
 * does not render memoised components again.
 */
function useStable<Args extends unknown[], Result>(
  handler: (...args: Args) => Result,
): (...args: Args) => Result {
  const latest = useRef(handler);
  useLayoutEffect(() => {
    latest.current = handler;
  });
  return useCallback((...args: Args) => latest.current(...args), []);
}

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

function BulkBar(props: BulkBarProps) {
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

function BulkActions(props: BulkBarProps) {
  const { selected, onSelectAll, onDialog, onChange } = props;
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
            <Tags aria-hidden /> {t("fields.tags")}
          </Button>
          <Button variant="quiet" onClick={() => onDialog("expiry")}>
            <CalendarClock aria-hidden /> {t("fields.expires_at")}
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
      <Button variant="quiet" onClick={exportCsv}>
        <Download aria-hidden /> {t("links.bulk.csv")}
      </Button>
      {canWrite && (
        <>
          <Button variant="quiet" className="bulk-delete" onClick={() => onDialog("delete")}>
            <Trash2 aria-hidden /> {t("ui.delete")}
          </Button>
          <ActionMenu label={t("links.many.more")} actions={moreActions(props)} />
        </>
      )}
      <Button variant="quiet" onClick={() => onSelectAll(false)}>
        <X aria-hidden /> {t("links.bulk.clear")}
      </Button>
    </div>
  );
}

const moreActions = ({ onDialog, onChange }: BulkBarProps): Action[] => [
  { label: "links.many.replace", icon: Replace, onSelect: () => onDialog("replace") },
  { label: "links.form.utm", icon: Target, onSelect: () => onDialog("utm") },
  { label: "links.many.move", icon: Globe, onSelect: () => onDialog("move") },
  { label: "fields.password", icon: KeyRound, onSelect: () => onDialog("password") },
  {
    label: "links.actions.enable",
    icon: CircleCheck,
    onSelect: () => onChange({ disabled: false }, "enabled"),
  },
  {
    label: "links.actions.disable",
    icon: CircleOff,
    onSelect: () => onChange({ disabled: true }, "disabled"),
  },
];

/**
 * Checks all rows of an import before anything is created, runs it, and lists the rows that are not
 * imported.
 */
import { Download } from "lucide-react";
import { useState } from "react";
import { Link as PageLink } from "wouter";

import type { Link } from "../../../../../clients/typescript/src/index.ts";
import { unescapeFormula } from "../../../../../shared/link-csv/cells.ts";
import { findField } from "../../../../../shared/link-csv/fields.ts";
import { readList } from "../../../data/complete-list.ts";
import { saveCsv } from "../../../data/csv.ts";
import { useApiQuery } from "../../../data/session.ts";
import { t } from "../../../languages/translate.ts";
import { Button, useDialog } from "../../../ui/button.tsx";
import { formatCount } from "../../../ui/format.ts";
import { Card } from "../../../ui/page.tsx";
import { Alert } from "../../../ui/states.tsx";
import { RowTable } from "../../../ui/table.tsx";
import { BulkDialog, ReportDialog } from "../bulk-dialogs.tsx";
import type { BulkReport } from "../bulk-task.tsx";
import type { ImportFile, ImportItem, NoteKind, ProblemKind } from "./plan.ts";
import {
  type ChosenFile,
  type FailedItem,
  type Import,
  type ImportProgress,
  listFailed,
} from "./use-import.ts";

export function CheckCard({ chosen, steps }: { chosen: ChosenFile; steps: Import }) {
  const { stage } = steps;
  const { rows } = chosen.file;
  return (
    <Card title={t("import.check")}>
      <div className="stack">
        {stage.name === "map" && (
          <>
            {stage.error !== undefined && <Alert>{stage.error}</Alert>}
            <p>{t("import.checkHint")}</p>
            <div>
              <Button
                variant="primary"
                disabled={findField(chosen.mapping, "url") < 0}
                onClick={() => steps.check(chosen)}
              >
                {t("import.run.check", { count: rows.length })}
              </Button>
            </div>
          </>
        )}
        {stage.name === "checking" && (
          <>
            <label className="progress">
              {t("import.run.checking", { done: stage.done, total: stage.total })}
              <progress value={stage.done} max={stage.total} />
            </label>
            <div>
              <Button onClick={steps.cancelCheck}>{t("ui.cancel")}</Button>
            </div>
          </>
        )}
        {stage.name === "checked" && (
          <Checked
            chosen={chosen}
            items={stage.items}
            onStart={() => void steps.start(stage.items)}
          />
        )}
      </div>
    </Card>
  );
}

function Checked({
  chosen,
  items,
  onStart,
}: {
  chosen: ChosenFile;
  items: readonly ImportItem[];
  onStart: () => void;
}) {
  const failed = listFailed(items);
  const possible = items.length - failed.length;
  return (
    <>
      <p role="status">
        {describeCheck(possible, items.length)} {t("import.nothingYet")}
      </p>
      <Counts items={items} />
      <QuotaWarning needed={possible} />
      {failed.length > 0 && <FailedTable file={chosen.file} failed={failed} />}
      {possible > 0 && (
        <div>
          <Button variant="primary" onClick={onStart}>
            {t("import.run.start", { count: possible })}
          </Button>
        </div>
      )}
    </>
  );
}

/** `3 of 4 links can be imported.` */
const describeCheck = (possible: number, total: number): string =>
  possible === total
    ? t("import.checked.all", { count: total })
    : t("import.checked.some", { possible, count: total });

/** How many links have which problem, and what one should know of the others. */
const Counts = ({ items }: { items: readonly ImportItem[] }) => (
  <div className="columns">
    <CountList
      title={t("import.run.notImported")}
      rows={countProblems(items).map(({ kind, count }) => ({
        text: t(`import.problems.${kind}`),
        count,
        isWarning: false,
      }))}
    />
    <CountList
      title={t("import.run.notes")}
      rows={countNotes(items).map(({ kind, count }) => ({
        text: t(`import.notes.${kind}`),
        count,
        isWarning: kind === "left_archived",
      }))}
    />
  </div>
);

type CountListProps = {
  title: string;
  rows: readonly { text: string; count: number; isWarning: boolean }[];
};

const CountList = ({ title, rows }: CountListProps) =>
  rows.length > 0 && (
    <section>
      <h3>{title}</h3>
      <ul className="import-counts" aria-label={title}>
        {rows.map(({ text, count, isWarning }) => (
          <li key={text} {...(isWarning ? { className: "warning" } : {})}>
            <b>{formatCount(count)}</b> {text}
          </li>
        ))}
      </ul>
    </section>
  );

/** Says that the account may create fewer links today than the import would. */
function QuotaWarning({ needed }: { needed: number }) {
  const limits = useApiQuery(["limits"], (client) => client.limits());
  const quota = limits.data?.quotas.find(({ name }) => name === "links_per_day");
  if (quota === undefined || quota.remaining >= needed) return null;
  return <p className="warning">{t("import.quota", { count: quota.remaining })}</p>;
}

type Count<Kind> = { kind: Kind; count: number };

/** Counts the links that will not be imported by their problem, the most frequent first. */
export const countProblems = (items: readonly ImportItem[]): Count<ProblemKind>[] =>
  countKinds(items.map(({ problem }) => (problem === undefined ? [] : [problem.kind])));

/** Counts the links that will be imported otherwise than they stand in the file. */
export const countNotes = (items: readonly ImportItem[]): Count<NoteKind>[] =>
  countKinds(items.map(({ problem, notes }) => (problem === undefined ? [...new Set(notes)] : [])));

function countKinds<Kind>(kinds: readonly (readonly Kind[])[]): Count<Kind>[] {
  const counts = new Map<Kind, number>();
  for (const kind of kinds.flat()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([kind, count]) => ({ kind, count }))
    .toSorted((a, b) => b.count - a.count);
}

/** The progress of an import, and in the end what was not imported. */
export function ProgressCard({
  file,
  tags,
  total,
  progress: { startedAt, done, created, failed, ended, stopReason },
  onStop,
}: {
  file: ImportFile;
  /** The tags that all of the links have, as typed. */
  tags: string;
  total: number;
  progress: ImportProgress;
  onStop: () => void;
}) {
  const restMs = done === 0 ? undefined : ((Date.now() - startedAt) / done) * (total - done);
  return (
    <Card title={t("import.run.progress")}>
      <div className="stack">
        {!ended && (
          <>
            <label className="progress">
              {describeProgress(done, total, restMs)}
              <progress value={done} max={total} />
            </label>
            <div>
              <Button onClick={onStop}>{t("import.run.stop")}</Button>
            </div>
          </>
        )}
        <p role="status">
          {t("import.run.result", { created: created.length, failed: failed.length })}
        </p>
        {ended && created.length > 0 && (
          <div className="actions">
            <PageLink href={listHref(tags)} className="button button-primary">
              {t("import.run.showImported")}
            </PageLink>
            <TakeBack created={created} />
          </div>
        )}
        {stopReason !== undefined && <Alert>{stopReason}</Alert>}
        {ended && failed.length > 0 && <FailedTable file={file} failed={failed} />}
      </div>
    </Card>
  );
}

/** Deletes the links that an import has created, after a question. */
function TakeBack({ created }: { created: readonly Link[] }) {
  const [left, setLeft] = useState(created);
  const { open, close, dialog } = useDialog();
  function report(outcome: BulkReport): void {
    setLeft(outcome.failed.map(({ link }) => link));
    if (outcome.failed.length === 0) close();
    else open((close) => <ReportDialog report={outcome} onClose={close} />);
  }
  const ask = () =>
    open((close) => (
      <BulkDialog
        kind="delete"
        links={left}
        refresh={(links) => Promise.resolve(links)}
        onClose={close}
        onReport={report}
      />
    ));
  return (
    <>
      {left.length > 0 && <Button onClick={ask}>{t("import.run.takeBack")}</Button>}
      {dialog}
    </>
  );
}

/** Says how far an import is, and how long it still takes. */
const describeProgress = (done: number, total: number, restMs: number | undefined): string =>
  restMs === undefined
    ? t("import.run.importing", { done, total })
    : t("import.run.importingLeft", { done, total, time: describeDuration(restMs) });

function describeDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 90
    ? t("import.run.seconds", { count: seconds })
    : t("import.run.minutes", { count: Math.ceil(seconds / 60) });
}

/** The list of links, the newest first: those of the tags, archived ones too. */
function listHref(tags: string): string {
  const query = new URLSearchParams([
    ["archived", "any"],
    ...readList(tags).map((tag) => ["tag", tag]),
  ]);
  return `/links?${query.toString()}`;
}

/** Maximum links displayed; the CSV file has all. */
const FAILED_MAX = 100;

function FailedTable({ file, failed }: { file: ImportFile; failed: readonly FailedItem[] }) {
  return (
    <>
      <RowTable
        label={t("import.run.failedTable")}
        rows={failed.slice(0, FAILED_MAX)}
        keyOf={(_, index) => index}
        columns={[
          { name: t("import.heads.row"), isNamed: true, cell: ({ row }) => row },
          { name: t("fields.alias"), cell: ({ link }) => link.alias },
          { name: t("import.heads.reason"), cell: ({ problem }) => problem.message },
          {
            name: t("fields.url"),
            cell: ({ link }) => <span className="destination">{link.url}</span>,
          },
        ]}
        tall
      />
      {failed.length > FAILED_MAX && (
        <p className="hint">{t("import.run.firstFailed", { max: FAILED_MAX })}</p>
      )}
      <div>
        <Button onClick={() => saveCsv(reportOf(file, failed), "not-imported.csv")}>
          <Download aria-hidden /> {t("import.run.download")}
        </Button>
      </div>
    </>
  );
}

/** The columns before those of the file: the number of the row, and why it was not imported. */
const REPORT_COLUMNS = ["import_row", "import_reason"];

/** The rows of the file that were not imported, whole, each with its reason, as a table. */
export function reportOf(
  { columns, rows, isEscaped }: ImportFile,
  failed: readonly FailedItem[],
): string[][] {
  const reasons = new Map<number, string[]>();
  for (const { index, problem } of failed)
    reasons.set(index, [...(reasons.get(index) ?? []), problem.message]);
  // A list of an earlier import has them already.
  const keeps = (column: number): boolean => !REPORT_COLUMNS.includes(columns[column] ?? "");
  const table = [...reasons].map(([index, messages]) => {
    const { row, cells } = rows[index] ?? { row: 0, cells: [] };
    const own = cells.filter((_, column) => keeps(column));
    const texts = isEscaped ? own.map(unescapeFormula) : own;
    return [String(row), [...new Set(messages)].join(" "), ...texts];
  });
  const header = [...REPORT_COLUMNS, ...columns.filter((_, column) => keeps(column))];
  return [header, ...table];
}

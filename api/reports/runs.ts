/**
 * Makes reports: a run, the event that has what the report says, and the mails to its recipients,
 * in one transaction.
 */
import { newUuid } from "../../shared/ids.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import { recordAll } from "../events/record.ts";
import { type Actor, SYSTEM } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { computeContent, type ContentDeps } from "./content.ts";
import { enqueueMails } from "./mails-sql.ts";
import type { ReportRow, RunRow } from "./model.ts";
import { insertRun } from "./runs-sql.ts";
import { lastPeriod, nextDue } from "./schedule.ts";
import { moveDue } from "./sql.ts";

export type RunDeps = ContentDeps & {
  sql: Sql;
  /** Whether this installation sends mails. */
  sendsMails: boolean;
};

/** Makes a report of the last period again, because somebody requests it; throws `not_found`. */
export async function runRequested(
  deps: RunDeps,
  report: ReportRow,
  actor: Actor,
): Promise<RunRow> {
  const content = await computeContent(deps, report, lastPeriod(report, Date.now()));
  const row = await deps.sql.begin((transaction) =>
    record(transaction, { report, content, requested: true, actor, sendsMails: deps.sendsMails }),
  );
  if (row === undefined) throw new Error("No other run is in the way of a requested one.");
  return row;
}

/**
 * Makes a report that is due, unless it was made of this period before, and sets when it is due
 * next. Throws `not_found` when its link is gone.
 */
export async function runDue(deps: RunDeps, report: ReportRow): Promise<void> {
  const now = Date.now();
  const content = await computeContent(deps, report, lastPeriod(report, now));
  const { sendsMails } = deps;
  await deps.sql.begin(async (transaction) => {
    const run = { report, content, requested: false, actor: SYSTEM, sendsMails };
    await record(transaction, run);
    const to = new Date(nextDue(report, now));
    await moveDue(transaction, report.id, { from: report.due_at, to });
  });
}

type NewRecord = {
  report: ReportRow;
  content: ReportContent;
  requested: boolean;
  actor: Actor;
  sendsMails: boolean;
};

/** Records a run, whose id is also that of its event; undefined if its period has one. */
async function record(
  transaction: Transaction,
  { report, content, requested, actor, sendsMails }: NewRecord,
): Promise<RunRow | undefined> {
  const { id: reportId, account_id: accountId, mode, link_id } = report;
  const id = newUuid();
  const { first_day, last_day } = content;
  const run = { id, reportId, first_day, last_day, requested, content };
  const row = await insertRun(transaction, run);
  if (row === undefined) return undefined;
  const link = link_id === null ? {} : { linkId: link_id };
  const event = {
    id,
    type: "report.ready",
    objectId: reportId,
    ...link,
    data: { report: content },
  } as const;
  await recordAll(transaction, [{ accountId, mode, actor, ...event }]);
  const waiting = sendsMails ? await enqueueMails(transaction, { runId: id, reportId }) : 0;
  return { ...row, mails: { ...row.mails, waiting } };
}

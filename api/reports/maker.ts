/**
 * Makes reports: a run, the event that has what the report says, and the mails to its recipients,
 * in one transaction. Those that are due are made in one API process at a time. A run and the next
 * time at which its report is due are written together, and no period has two runs, so each is made
 * once, whatever stops.
 */
import { MINUTE_MS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import { recordAll } from "../events/record.ts";
import { ApiError } from "../http/errors.ts";
import { type Actor, SYSTEM } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { ReportStatistics } from "./content.ts";
import type { ReportRow, RunRow } from "./model.ts";
import { lastPeriod, nextDue } from "./schedule.ts";
import { enqueueMails, reportColumns, runColumns } from "./sql.ts";

/** Time between two rounds. */
const ROUND_MS = 10_000;

/** Most reports of a round, and of those that are made at the same time. */
const DUE_MAX = 100;
const RUNNING_MAX = 4;

/** How much later a report is due that could not be made. */
const RETRY_MS = 5 * MINUTE_MS;

export class ReportMaker {
  readonly #sql: Sql;
  readonly #statistics: ReportStatistics;
  readonly #log: Log;
  /** Whether this installation sends mails. */
  readonly sendsMails: boolean;
  #rounds: Repetition | undefined;

  constructor(sql: Sql, statistics: ReportStatistics, sendsMails: boolean, log: Log) {
    this.#sql = sql;
    this.#statistics = statistics;
    this.sendsMails = sendsMails;
    this.#log = log;
  }

  /** Makes in the background what is due, until it is stopped. */
  start(): void {
    this.#rounds = repeat(async () => {
      const made = await this.makeDue().catch((error: unknown) => {
        this.#log.warn({ error }, "reports_not_made");
        return 0;
      });
      return made === DUE_MAX ? 0 : ROUND_MS;
    });
  }

  stop(): void {
    void this.#rounds?.stop();
  }

  /** Makes what is due, unless another process does so. Returns how many reports were due. */
  makeDue(): Promise<number> {
    const sql = this.#sql;
    return sql.begin(async (lock) => {
      const [{ locked }] = await lock<[{ locked: boolean }]>`
        select pg_try_advisory_xact_lock(hashtextextended('reports', 3)) as locked`;
      if (!locked) return 0;
      const due = await sql<ReportRow[]>`
        select ${reportColumns(sql)} from reports
         where status = 'active' and due_at <= clock_timestamp() order by due_at limit ${DUE_MAX}`;
      for (let i = 0; i < due.length; i += RUNNING_MAX)
        await Promise.all(due.slice(i, i + RUNNING_MAX).map((report) => this.#tryToMake(report)));
      return due.length;
    });
  }

  /** Makes a report of the last period again, because somebody requests it; throws `not_found`. */
  async makeRequested(report: ReportRow, actor: Actor): Promise<RunRow> {
    const content = await this.#statistics.compute(report, lastPeriod(report, Date.now()));
    const row = await this.#sql.begin((transaction) =>
      this.#record(transaction, report, { content, requested: true, actor }),
    );
    if (row === undefined) throw new Error("No other run is in the way of a requested one.");
    return row;
  }

  /** Makes a report that is due. One that fails is due later, so that it keeps no other waiting. */
  async #tryToMake(report: ReportRow): Promise<void> {
    try {
      await this.#make(report);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "not_found")
        return await this.#pause(report);
      this.#log.warn({ error, report_id: report.id }, "report_not_made");
      await moveDue(this.#sql, report, Date.now() + RETRY_MS);
    }
  }

  /** Pauses a report, unless it has become due at another time. */
  async #pause({ id, due_at }: ReportRow): Promise<void> {
    await this.#sql`
      update reports set status = 'paused', updated_at = now()
       where id = ${id} and due_at = ${due_at}`;
  }

  /**
   * Makes a report, unless it was made of this period before, and sets when it is due next. Throws
   * `not_found` when its link is gone.
   */
  async #make(report: ReportRow): Promise<void> {
    const now = Date.now();
    const content = await this.#statistics.compute(report, lastPeriod(report, now));
    await this.#sql.begin(async (transaction) => {
      await this.#record(transaction, report, { content, requested: false, actor: SYSTEM });
      await moveDue(transaction, report, nextDue(report, now));
    });
  }

  /** Records a run, whose id is also that of its event; undefined if its period has one. */
  async #record(
    transaction: Transaction,
    { id: reportId, account_id: accountId, mode, link_id }: ReportRow,
    { content, requested, actor }: { content: ReportContent; requested: boolean; actor: Actor },
  ): Promise<RunRow | undefined> {
    const id = newUuid();
    const [row] = await transaction<RunRow[]>`
      insert into report_runs (id, report_id, first_day, last_day, requested, content)
      values (${id}, ${reportId}, ${content.first_day}, ${content.last_day}, ${requested}, ${transaction.json(content)})
      on conflict (report_id, first_day, last_day) where not requested do nothing
      returning ${runColumns(transaction)}`;
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
    const waiting = this.sendsMails ? await enqueueMails(transaction, { runId: id, reportId }) : 0;
    return { ...row, mails: { ...row.mails, waiting } };
  }
}

/** Sets when a report is due next (Unix milliseconds), unless it is due at another time. */
async function moveDue(
  sql: Sql | Transaction,
  { id, due_at }: ReportRow,
  dueAt: number,
): Promise<void> {
  await sql`update reports set due_at = ${new Date(dueAt)} where id = ${id} and due_at = ${due_at}`;
}

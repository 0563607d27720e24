/**
 * Makes reports: a run, the event that has what the report says, and the mails to its recipients,
 * in one transaction. Those that are due are made in one API process at a time. A run and the next
 * time at which its report is due are written together, and no period has two runs, so each is made
 * once, whatever stops.
 */
import { MINUTE_MS } from "../../shared/durations.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeatEvery, type Repetition } from "../../shared/repeat.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import { type Reader, readLinkNames } from "../analytics/breakdown.ts";
import type { FailureService } from "../analytics/failures.ts";
import type { SummaryRequest } from "../analytics/model.ts";
import type { Summary } from "../analytics/responses.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import type { ClicksReader } from "../clickhouse.ts";
import { recordAll } from "../events/record.ts";
import { ApiError } from "../http/errors.ts";
import { type Actor, SYSTEM } from "../http/principal.ts";
import type { LinkService } from "../links/service.ts";
import { OwnedRows } from "../owned-rows.ts";
import { type Sql, type Transaction, tryToLock } from "../postgres.ts";
import { lastPeriod, nextDue, type ReportedPeriod, type ReportRow, type RunRow } from "./model.ts";

/** Time between two rounds. */
const ROUND_MS = 10_000;

/** Maximum reports of a round, and of those that are made at the same time. */
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
    const make = async (): Promise<void> => {
      if ((await this.makeDue()) === DUE_MAX) this.#rounds?.wake();
    };
    this.#rounds = repeatEvery(ROUND_MS, make, { log: this.#log, failure: "reports_not_made" });
  }

  stop(): void {
    void this.#rounds?.stop();
  }

  /** Makes what is due, unless another process does so. Returns how many reports were due. */
  makeDue(): Promise<number> {
    const sql = this.#sql;
    return sql.begin(async (lock) => {
      if (!(await tryToLock(lock, "reports"))) return 0;
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

// Reports and their runs as accounts have them, and the mails of runs.

const reportColumns = (sql: Sql | Transaction) => sql`
  id, account_id, (select plan from accounts where id = account_id) as plan, mode, name, tag, link_id, period, hour, timezone, language, status, due_at, created_at,
  updated_at,
  (select alias from links where links.id = link_id) as link_alias,
  (select host from links join domains on domains.id = links.domain_id where links.id = link_id) as link_host,
  array(select users.email
          from report_recipients recipient join users on users.id = recipient.user_id
         where recipient.report_id = reports.id order by 1) as emails`;

export const reportRows = new OwnedRows<ReportRow>("reports", reportColumns);

export const runColumns = (sql: Sql | Transaction) => sql`
  id, first_day::text as first_day, last_day::text as last_day, requested, content, created_at,
  (select jsonb_build_object(
            'waiting', count(*) filter (where mail.status in ('waiting', 'sending')),
            'sent', count(*) filter (where mail.status = 'sent'),
            'failed', count(*) filter (where mail.status = 'failed'),
            'unknown', count(*) filter (where mail.status = 'unknown'))
     from report_mails mail where mail.run_id = report_runs.id) as mails`;

/** Puts a mail of a run to each recipient of its report into the queue; returns how many. */
export async function enqueueMails(
  transaction: Transaction,
  { runId, reportId }: { runId: Uuid; reportId: Uuid },
): Promise<number> {
  const { count } = await transaction`
    insert into report_mails (id, kind, run_id, report_id, user_id)
    select gen_random_uuid(), 'report', ${runId}, report_id, user_id from report_recipients where report_id = ${reportId}`;
  return count;
}

/** Entries of each list of a report. */
const ENTRIES = 5;

/** Computes reports from statistics, which the account of a report pays for. */
export class ReportStatistics {
  readonly #analytics: AnalyticsService;
  readonly #failures: FailureService;
  readonly #links: LinkService;

  constructor(analytics: AnalyticsService, failures: FailureService, links: LinkService) {
    this.#analytics = analytics;
    this.#failures = failures;
    this.#links = links;
  }

  /** Computes a report of a period that is over; throws `not_found` when its link is gone. */
  async compute(
    report: ReportRow,
    { first_day, last_day, from, to }: ReportedPeriod,
  ): Promise<ReportContent> {
    const { id, name, tag, link_id, period, timezone, language } = report;
    const reader = { ...payerOf(report), scopes: ["links:read"] };
    const subject = link_id === null ? ("account" as const) : { link: link_id };
    const days = { start_date: first_day, end_date: last_day, timezone: timezone };
    const query = { ...days, ...(tag === null ? {} : { tag: { anyOf: [tag], noneOf: [] } }) };
    const compared = { ...query, compare: "previous" as const };
    const [counts, geo, { referrers }, failures, link] = await Promise.all([
      link_id === null
        ? this.#analytics.account(reader, { ...compared, limit: ENTRIES })
        : this.#countLink(reader, link_id, compared),
      this.#analytics.geo(reader, subject, { ...query, group_by: "country", limit: ENTRIES }),
      this.#analytics.referrers(reader, subject, { ...query, limit: ENTRIES }),
      this.#countFailures(report, days),
      this.#findLink(reader, link_id),
    ]);
    return {
      id: encodeId("rpt", id),
      name,
      tag,
      link,
      period,
      first_day,
      last_day,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      timezone,
      language,
      ...compareTotals(counts),
      top_links: counts.top_links,
      countries: geo.group_by === "country" ? geo.data.map(toCountry) : [],
      referrers: referrers.map(({ source, clicks }) => ({ referrer: source, clicks })),
      failures,
    };
  }

  /** The counts of a link, in the form of those of an account. */
  async #countLink(owner: ClicksReader, link: Uuid, query: SummaryRequest) {
    return { ...(await this.#analytics.summary(owner, { link }, query)), top_links: [] };
  }

  /** Failed requests are not counted by tag. */
  async #countFailures(
    report: ReportRow,
    days: { start_date: string; end_date: string; timezone: string },
  ): Promise<ReportContent["failures"]> {
    const { tag, link_id } = report;
    if (tag !== null) return null;
    const link = link_id === null ? {} : { link_id: encodeId("link", link_id) };
    const request = { ...days, ...link, limit: 1 };
    return (await this.#failures.count(payerOf(report), request)).summary;
  }

  async #findLink(reader: Reader, uuid: ReportRow["link_id"]): Promise<ReportContent["link"]> {
    if (uuid === null) return null;
    const link_id = encodeId("link", uuid);
    return { link_id, ...(await readLinkNames(this.#links, reader, [link_id]))(link_id) };
  }
}

/** The account of the report pays for what it takes, also when nobody asks for it. */
const payerOf = ({ account_id: accountId, mode, plan }: ReportRow) =>
  ({ accountId, mode, plan, paysWith: "report_statistics" }) as const;

const toCountry = ({ country, clicks }: { country: string; clicks: number }) => ({
  country,
  clicks,
});

function compareTotals({ summary, comparison }: Summary) {
  if (comparison === undefined) throw new Error("A comparison was queried.");
  const { summary: before, change } = comparison;
  const compare = (field: "total_clicks" | "unique_clicks") => ({
    total: summary[field],
    before: before[field],
    change: change[field],
  });
  return {
    clicks: compare("total_clicks"),
    unique_clicks: compare("unique_clicks"),
    bot_clicks: summary.bot_clicks,
  };
}

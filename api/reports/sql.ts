/** SQL statements on reports, their recipients, their runs, and the mails of runs. */
import type { Uuid } from "../../shared/ids.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import type { AccountScope } from "../http/principal.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { Recipient, ReportFields, ReportRow, RunRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, account_id, (select plan from accounts where id = account_id) as plan, mode, name, tag, link_id, period, hour, timezone, language, status, due_at, created_at,
  updated_at,
  (select alias from links where links.id = link_id) as link_alias,
  (select host from links join domains on domains.id = links.domain_id where links.id = link_id) as link_host,
  array(select users.email
          from report_recipients recipient join users on users.id = recipient.user_id
         where recipient.report_id = reports.id order by 1) as emails`;

export const reportRows = new OwnedRows<ReportRow>("reports", columns);

/** Inserts a report, unless an earlier attempt of the same request has. */
export async function insertReport(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  { id, dueAt, ...report }: ReportFields & { id: Uuid; dueAt: Date },
): Promise<void> {
  await transaction`
    insert into reports (id, account_id, mode, name, tag, link_id, period, hour, timezone, language, due_at)
    values (${id}, ${accountId}, ${mode}, ${report.name}, ${report.tag}, ${report.link_id}, ${report.period},
            ${report.hour}, ${report.timezone}, ${report.language}, ${dueAt})
    on conflict (id) do update set due_at = excluded.due_at`;
}

/** Writes the fields of a report that is locked. */
export async function updateReport(
  transaction: Transaction,
  id: Uuid,
  change: ReportFields & { status: ReportRow["status"]; due_at: Date },
): Promise<void> {
  await transaction`
    update reports set ${transaction({ ...change, updated_at: new Date() })} where id = ${id}`;
}

/** Lists reports that are due, those that have waited longest first. */
export const listDue = (sql: Sql, limit: number): Promise<ReportRow[]> =>
  sql<ReportRow[]>`
    select ${columns(sql)} from reports
     where status = 'active' and due_at <= clock_timestamp() order by due_at limit ${limit}`;

/**
 * Lets one process at a time make reports, until the transaction ends. Returns whether it is this
 * one.
 */
export async function lockMaking(transaction: Transaction): Promise<boolean> {
  const [row] = await transaction<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended('reports', 3)) as locked`;
  return row.locked;
}

/** Sets when a report is due next, unless it is no longer due at `from`. */
export async function moveDue(
  sql: Sql | Transaction,
  id: Uuid,
  { from, to }: { from: Date; to: Date },
): Promise<void> {
  await sql`update reports set due_at = ${to} where id = ${id} and due_at = ${from}`;
}

/** Pauses a report that is still due at `from`. */
export async function pauseReport(sql: Sql, id: Uuid, from: Date): Promise<void> {
  await sql`
    update reports set status = 'paused', updated_at = now() where id = ${id} and due_at = ${from}`;
}

/** Members of an account whose confirmed addresses are in a list, with these addresses. */
export const findMembersByAddress = (
  sql: Sql,
  accountId: Uuid,
  emails: readonly string[],
): Promise<{ user_id: Uuid; email: string }[]> =>
  sql<{ user_id: Uuid; email: string }[]>`
    select member.user_id, users.email as email
      from members member join users on users.id = member.user_id
     where member.account_id = ${accountId} and users.email_verified
       and users.email = any (${[...emails]}::text[])`;

/** Makes users the recipients of a report, in place of others. */
export async function replaceRecipients(
  transaction: Transaction,
  { id, account_id }: { id: Uuid; account_id: Uuid },
  userIds: readonly Uuid[],
): Promise<void> {
  await transaction`
    delete from report_recipients where report_id = ${id} and not user_id = any (${[...userIds]}::uuid[])`;
  await transaction`
    insert into report_recipients (report_id, account_id, user_id)
    select ${id}, member.account_id, member.user_id from members member
     where member.account_id = ${account_id} and member.user_id = any (${[...userIds]}::uuid[])
    on conflict do nothing`;
}

/** Ends the subscription of a user, and returns of which report; undefined if there is none. */
export async function deleteRecipient(
  sql: Transaction,
  { reportId, userId }: Recipient,
): Promise<(AccountScope & { name: string }) | undefined> {
  const [row] = await sql<(AccountScope & { name: string })[]>`
    with gone as (
      delete from report_recipients where report_id = ${reportId} and user_id = ${userId}
      returning report_id
    )
    select account_id as "accountId", mode, name from gone join reports on reports.id = report_id`;
  return row;
}

/** Days for which runs are kept: those of a year can be compared. */
const RETENTION_DAYS = 400;

const runColumns = (sql: Sql | Transaction) => sql`
  id, first_day::text as first_day, last_day::text as last_day, requested, content, created_at,
  (select jsonb_build_object(
            'waiting', count(*) filter (where mail.status in ('waiting', 'sending')),
            'sent', count(*) filter (where mail.status = 'sent'),
            'failed', count(*) filter (where mail.status = 'failed'),
            'unknown', count(*) filter (where mail.status = 'unknown'))
     from report_mails mail where mail.run_id = report_runs.id) as mails`;

export type NewRun = Omit<RunRow, "created_at" | "mails"> & { reportId: Uuid };

/**
 * Inserts a run; undefined when the report was made of this period before. One that is requested is
 * always inserted.
 */
export async function insertRun(
  transaction: Transaction,
  { id, reportId, first_day, last_day, requested, content }: NewRun,
): Promise<RunRow | undefined> {
  const [row] = await transaction<RunRow[]>`
    insert into report_runs (id, report_id, first_day, last_day, requested, content)
    values (${id}, ${reportId}, ${first_day}, ${last_day}, ${requested}, ${transaction.json(content)})
    on conflict (report_id, first_day, last_day) where not requested do nothing
    returning ${runColumns(transaction)}`;
  return row;
}

/** Lists the newest runs of a report. */
export const listRuns = (sql: Sql, reportId: Uuid, limit: number): Promise<RunRow[]> =>
  sql<RunRow[]>`
    select ${runColumns(sql)} from report_runs
     where report_id = ${reportId} order by created_at desc, id desc limit ${limit}`;

/** Deletes runs that have been kept long enough, at most `max`; returns how many. */
export async function deleteOldRuns(sql: Sql, max: number): Promise<number> {
  const { count } = await sql`
    delete from report_runs where id in (
      select id from report_runs where created_at < now() - make_interval(days => ${RETENTION_DAYS})
       order by created_at limit ${max})`;
  return count;
}

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

/**
 * Whether the user of a mail may have it: a recipient still, with an address that is confirmed.
 */
export const isRecipient = (sql: Sql) => sql`
  exists (select from report_recipients recipient join users on users.id = recipient.user_id
           where recipient.report_id = mail.report_id and recipient.user_id = mail.user_id
             and users.email_verified)`;

/** What a run says, and of which report it is. */
export async function findRun(
  sql: Sql,
  id: Uuid,
): Promise<{ report_id: Uuid; content: ReportContent } | undefined> {
  const [row] = await sql<{ report_id: Uuid; content: ReportContent }[]>`
    select report_id, content from report_runs where id = ${id}`;
  return row;
}

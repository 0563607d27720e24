/** SQL statements on reports. */
import type { Uuid } from "../../shared/ids.ts";
import type { ListStart } from "../http/pagination.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { ReportFields, ReportRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, account_id, (select plan from accounts where id = account_id) as plan, mode, name, tag, link_id, period, hour, timezone, language, status, due_at, created_at,
  updated_at,
  (select alias from links where links.id = link_id) as link_alias,
  (select host from links join domains on domains.id = links.domain_id where links.id = link_id) as link_host,
  array(select users.email
          from report_recipients recipient join users on users.id = recipient.user_id
         where recipient.report_id = reports.id order by 1) as emails`;

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

/** Finds one of the owner's reports by its primary key. */
export async function findReport(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<ReportRow | undefined> {
  const [row] = await sql<ReportRow[]>`
    select ${columns(sql)} from reports where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** As {@link findReport}, and locks it until the transaction ends. */
export async function lockReport(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<ReportRow | undefined> {
  const [row] = await transaction<ReportRow[]>`
    select ${columns(transaction)} from reports
     where id = ${id} and account_id = ${accountId} and mode = ${mode} for update`;
  return row;
}

/** Lists the owner's reports, newest first, from an offset or after a position. */
export async function listReports(
  sql: Sql,
  { accountId, mode }: AccountScope,
  limit: number,
  start: ListStart,
): Promise<ReportRow[]> {
  const after = "after" in start ? start.after : null;
  return await sql<ReportRow[]>`
    select ${columns(sql)} from reports
     where account_id = ${accountId} and mode = ${mode}
           ${after === null ? sql`` : sql`and (created_at, id) < (${new Date(after.key)}::timestamptz, ${after.id}::uuid)`}
     order by created_at desc, id desc
     limit ${limit} offset ${"offset" in start ? start.offset : 0}`;
}

/** Writes the fields of a report that is locked. */
export async function updateReport(
  transaction: Transaction,
  id: Uuid,
  change: ReportFields & Pick<ReportRow, "status" | "due_at">,
): Promise<void> {
  await transaction`
    update reports set ${transaction({ ...change, updated_at: new Date() })} where id = ${id}`;
}

/** Deletes one of the owner's reports with its runs; returns false when there is none. */
export async function deleteReport(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<boolean> {
  const rows = await sql`
    delete from reports where id = ${id} and account_id = ${accountId} and mode = ${mode} returning id`;
  return rows.length === 1;
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

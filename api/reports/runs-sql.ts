/** SQL statements on the runs of reports. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { RunRow } from "./model.ts";

/** Days for which runs are kept: those of a year can be compared. */
const RETENTION_DAYS = 400;

/** Runs deleted by one statement. */
const DELETED_MAX = 5_000;

const columns = (sql: Sql | Transaction) => sql`
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
    returning ${columns(transaction)}`;
  return row;
}

/** Lists the newest runs of a report. */
export const listRuns = (sql: Sql, reportId: Uuid, limit: number): Promise<RunRow[]> =>
  sql<RunRow[]>`
    select ${columns(sql)} from report_runs
     where report_id = ${reportId} order by created_at desc, id desc limit ${limit}`;

/** Deletes runs that have been kept long enough. */
export async function deleteOldRuns(sql: Sql): Promise<void> {
  let deleted = DELETED_MAX;
  while (deleted === DELETED_MAX) {
    const result = await sql`
      delete from report_runs where id in (
        select id from report_runs where created_at < now() - make_interval(days => ${RETENTION_DAYS})
         order by created_at limit ${DELETED_MAX})`;
    deleted = result.count;
  }
}

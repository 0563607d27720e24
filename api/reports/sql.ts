/** Reports and their runs as accounts have them, and the mails of runs. */
import type { Uuid } from "../../shared/ids.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { ReportRow } from "./model.ts";

export const reportColumns = (sql: Sql | Transaction) => sql`
  id, account_id, (select plan from accounts where id = account_id) as plan, mode, name, tag, link_id, period, hour, timezone, language, status, due_at, created_at,
  updated_at,
  (select alias from links where links.id = link_id) as link_alias,
  (select host from links join domains on domains.id = links.domain_id where links.id = link_id) as link_host,
  array(select users.email
          from report_recipients recipient join users on users.id = recipient.user_id
         where recipient.report_id = reports.id order by 1) as emails`;

export const reportRows = new OwnedRows<ReportRow>("reports", reportColumns);

/** Days for which runs are kept: those of a year can be compared. */
const RETENTION_DAYS = 400;

export const runColumns = (sql: Sql | Transaction) => sql`
  id, first_day::text as first_day, last_day::text as last_day, requested, content, created_at,
  (select jsonb_build_object(
            'waiting', count(*) filter (where mail.status in ('waiting', 'sending')),
            'sent', count(*) filter (where mail.status = 'sent'),
            'failed', count(*) filter (where mail.status = 'failed'),
            'unknown', count(*) filter (where mail.status = 'unknown'))
     from report_mails mail where mail.run_id = report_runs.id) as mails`;

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

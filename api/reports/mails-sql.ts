/** SQL statements on mails with reports. */
import type { Uuid } from "../../shared/ids.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import type { Sql, Transaction } from "../postgres.ts";

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

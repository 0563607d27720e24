/** SQL statements of unsubscribing. */
import type { Sql } from "../../postgres.ts";
import type { Recipient } from "./token.ts";

/** Ends the subscription of a user, if there is one. */
export async function deleteRecipient(sql: Sql, { reportId, userId }: Recipient): Promise<void> {
  await sql`delete from report_recipients where report_id = ${reportId} and user_id = ${userId}`;
}

/** Rows that nothing reads any more, and their deletion. */
import type { PendingQuery, Row } from "postgres";

import { TTL_HOURS } from "./idempotency/idempotency.ts";
import type { Sql } from "./postgres.ts";

/** Rows that one statement deletes, and one round at most: far more than are added meanwhile. */
const BATCH = 5_000;
const DELETED_MAX = 500_000;

/** The tables, and which of their rows have expired. */
const listExpired = (sql: Sql): [table: string, condition: PendingQuery<Row[]>][] => [
  // Windows are at most a day long.
  ["plan_windows", sql`greatest(day_opened_at, refused_opened_at) < now() - interval '25 hours'`],
  ["endpoint_windows", sql`opened_at < now() - interval '25 hours'`],
  ["quota_windows", sql`opened_at < now() - interval '25 hours'`],
  ["stream_leases", sql`expires_at < now()`],
  ["idempotency_keys", sql`created_at < now() - make_interval(hours => ${TTL_HOURS})`],
  ["sign_in_windows", sql`opened_at < now() - interval '1 hour'`],
  ["unknown_sign_ins", sql`day < now() - interval '400 days'`],
  ["sessions", sql`expires_at < now()`],
  // Sign-ins that were not completed.
  ["verifications", sql`expires_at < now()`],
  ["password_resets", sql`expires_at < now()`],
  // Accounts that read no events of clicks any more.
  ["event_readers", sql`read_at < now() - interval '7 days'`],
  ["webhook_deliveries", sql`created_at < now() - interval '30 days' and status <> 'pending'`],
  // Those with reports are deleted with the run.
  ["report_mails", sql`created_at < now() - interval '30 days' and run_id is null`],
  // Runs of a year can be compared.
  ["report_runs", sql`created_at < now() - interval '400 days'`],
];

export async function deleteExpiredRows(sql: Sql): Promise<void> {
  for (const [table, condition] of listExpired(sql)) {
    // The condition twice: a row may be renewed while the statement waits for it.
    await deleteInBatches(async (max) => {
      const { count } = await sql`
        delete from ${sql(table)} where ctid = any (array(
          select ctid from ${sql(table)} where ${condition} limit ${max}))
          and ${condition}`;
      return count;
    });
  }
}

/** `deleteSome` deletes at most `max` rows, and returns how many. */
export async function deleteInBatches(deleteSome: (max: number) => Promise<number>): Promise<void> {
  for (let deleted = 0; deleted < DELETED_MAX; deleted += BATCH)
    if ((await deleteSome(BATCH)) < BATCH) return;
}

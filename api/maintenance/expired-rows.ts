/**
 * Deletes expired rows: closed windows, stream leases, idempotent requests, sign-in attempts,
 * sessions, links to set a password, deliveries of webhooks and mails about them, and runs of
 * reports.
 */
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { deleteExpiredRequests } from "../idempotency/sql.ts";
import { deleteExpiredLimits } from "../limits/sql.ts";
import type { Sql } from "../postgres.ts";
import { deleteOldRuns } from "../reports/runs-sql.ts";
import {
  deleteExpiredAttempts,
  deleteExpiredResets,
  deleteExpiredSessions,
} from "../sessions/sql.ts";
import { deleteOldDeliveries } from "../webhooks/deliveries-sql.ts";
import { deleteOldMails } from "../webhooks/mails-sql.ts";

/** Time between two deletions. */
const INTERVAL_MS = 60_000;

/** Deletes in the background. Several processes may do so concurrently. */
export const cleanUpExpiredRows = (sql: Sql, log: Log): Repetition =>
  repeat(async () => {
    await deleteExpiredRows(sql).catch((error: unknown) =>
      log.warn({ error }, "expired_row_cleanup_failed"),
    );
    return INTERVAL_MS;
  }, INTERVAL_MS);

async function deleteExpiredRows(sql: Sql): Promise<void> {
  await deleteExpiredLimits(sql);
  await deleteExpiredRequests(sql);
  await deleteExpiredAttempts(sql);
  await deleteExpiredSessions(sql);
  await deleteExpiredResets(sql);
  await deleteOldDeliveries(sql);
  await deleteOldMails(sql);
  await deleteOldRuns(sql);
}

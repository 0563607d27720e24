/**
 * Deletes expired rows: closed windows, stream leases, idempotent requests, sign-in attempts,
 * sessions, links to set a password, deliveries of webhooks and mails about them, and runs of
 * reports.
 */
import type { Log } from "../../shared/log.ts";
import { deleteExpiredRequests } from "../idempotency/sql.ts";
import { deleteExpiredLimits } from "../limits/sql.ts";
import type { Sql } from "../postgres.ts";
import { deleteOldRuns } from "../reports/runs-sql.ts";
import { deleteExpiredResets } from "../sessions/resets-sql.ts";
import { deleteExpiredAttempts, deleteExpiredSessions } from "../sessions/sql.ts";
import { deleteOldDeliveries } from "../webhooks/deliveries-sql.ts";
import { deleteOldMails } from "../webhooks/mails-sql.ts";

const INTERVAL_MS = 60_000;

/**
 * Starts the cleanup in the background and returns a function that stops it. Several processes may
 * clean up concurrently.
 */
export function startExpiredRowCleanup(sql: Sql, log: Log): () => void {
  const timer = setInterval(() => {
    deleteExpiredRows(sql).catch((error: unknown) =>
      log.warn({ error }, "expired_row_cleanup_failed"),
    );
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}

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

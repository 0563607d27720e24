/** Work on the ledger of events in the background: notices, and deletions after their retention. */
import type { Log } from "../../shared/log.ts";
import { repeat } from "../../shared/repeat.ts";
import { deleteOldEvents, forgetReaders } from "../events/sql.ts";
import { noticeEvents } from "../links/notices.ts";
import type { UsedClicks } from "../links/used-clicks.ts";
import type { Sql } from "../postgres.ts";

/** Time between two notices. */
const NOTICE_MS = 5_000;

/** Time between two deletions. */
const DELETION_MS = 60_000;

/** Events of one statement, and of one run at most: far more than are recorded in the time. */
const BATCH = 5_000;
const DELETED_MAX = 500_000;

/** Days after which an account counts no longer as a reader of clicks. */
const READER_DAYS = 7;

type MaintenanceDeps = {
  sql: Sql;
  usedClicks: UsedClicks;
  shortUrl: string;
  retentionDays: number;
  log: Log;
};

/**
 * Starts the work in the background and returns a function that stops it. Several processes may do
 * so concurrently.
 */
export function startEventMaintenance({
  sql,
  usedClicks,
  shortUrl,
  retentionDays,
  log,
}: MaintenanceDeps): () => void {
  const notices = repeat(async () => {
    await noticeEvents(sql, usedClicks, shortUrl).catch((error: unknown) =>
      log.warn({ error }, "notices_failed"),
    );
    return NOTICE_MS;
  });
  const deletions = repeat(async () => {
    await deleteOld(sql, retentionDays).catch((error: unknown) =>
      log.warn({ error }, "event_deletion_failed"),
    );
    return DELETION_MS;
  });
  return () => {
    void notices.stop();
    void deletions.stop();
  };
}

async function deleteOld(sql: Sql, retentionDays: number): Promise<void> {
  await forgetReaders(sql, READER_DAYS);
  for (let deleted = 0; deleted < DELETED_MAX; deleted += BATCH)
    if ((await deleteOldEvents(sql, retentionDays, BATCH)) < BATCH) return;
}

/**
 * Repairs of rollups after a takeover: the insert of a worker that ended may be in `clicks` and not in a view, and its
 * repetition may have other rows, if GeoIP data or the worker's version has changed in between.
 */
import type postgres from "postgres";

import { REPAIR_LOCK } from "../../shared/clicks/lock.ts";
import { type ClickHouse, findDifferences, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import type { Log } from "../../shared/log.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { type ClickSpan, LostOwnershipError } from "./deps.ts";

/** A PostgreSQL that does not respond must not delay clicks for longer. */
const LOCK_TIMEOUT_MS = 3_000;

/** Pause before a repair is tried again for which PostgreSQL did not give the lock. */
const RETRY_MS = 10_000;

/** Most spans that wait for a repair. Beyond it, the oldest is left to the consistency check. */
const WAITING_MAX = 100;

export type Repairs = {
  /**
   * Repairs what waits, and this span. When PostgreSQL is down it waits, because two repairs at once would be wrong.
   * Returns whether nothing waits any more. Throws {@link LostOwnershipError} when `confirm` does: the clicks that
   * another owner is inserting would look like differences.
   */
  repair(confirm: () => Promise<void>, span?: ClickSpan): Promise<boolean>;
  /** Buckets that were rebuilt. */
  rebuilt(): number;
};

type RepairsDeps = { sql: postgres.Sql; clickhouse: ClickHouse; log: Log };

/** Creates the repairs. They must run while nothing is inserted: a click on its way looks like a difference. */
export function createRepairs({ sql, clickhouse, log }: RepairsDeps): Repairs {
  const waiting: ClickSpan[] = [];
  let retryAt = 0;
  let rebuilt = 0;

  async function repairSpan(
    { firstClick, lastClick }: ClickSpan,
    confirm: () => Promise<void>,
  ): Promise<void> {
    await confirm();
    const range = { from: Math.floor(firstClick / 1_000), to: Math.floor(lastClick / 1_000) + 1 };
    const differences = await findDifferences(clickhouse, range, "touched");
    if (differences.length === 0) return;
    // The comparison takes long enough for another worker to take over and insert.
    await confirm();
    log.warn({ differences: differences.length }, "half_done_insert_repaired");
    await rebuildBuckets(clickhouse, differences);
    rebuilt += differences.length;
  }

  async function repairWaiting(confirm: () => Promise<void>): Promise<void> {
    const release = await takeLock(sql);
    try {
      for (let span = waiting[0]; span !== undefined; span = waiting[0]) {
        await repairSpan(span, confirm);
        waiting.shift();
      }
    } finally {
      release();
    }
  }

  return {
    async repair(confirm, span) {
      if (span !== undefined) {
        waiting.push(span);
        if (waiting.length > WAITING_MAX) waiting.shift();
        retryAt = 0;
      }
      if (waiting.length === 0) return true;
      if (performance.now() < retryAt) return false;
      try {
        await repairWaiting(confirm);
        return true;
      } catch (error) {
        if (error instanceof LostOwnershipError) throw error;
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error, waiting: waiting.length }, "repair_postponed");
        return false;
      }
    },
    rebuilt: () => rebuilt,
  };
}

/** Takes the lock for repairs, and returns the function that gives it back. Throws when it is not given in time. */
async function takeLock(sql: postgres.Sql): Promise<() => void> {
  const locked = Promise.withResolvers<boolean>();
  const released = Promise.withResolvers<void>();
  sql
    .begin(async (transaction) => {
      const [row] = await transaction<[{ locked: boolean }]>`
        select pg_try_advisory_xact_lock(${REPAIR_LOCK}) as locked`;
      locked.resolve(row.locked);
      if (row.locked) await released.promise;
    })
    .catch(locked.reject);
  try {
    if (!(await withTimeout(locked.promise, LOCK_TIMEOUT_MS)))
      throw new Error("Another repair is running.");
    return released.resolve;
  } catch (error) {
    // If the lock is given later, it is given back at once.
    released.resolve();
    throw error;
  }
}

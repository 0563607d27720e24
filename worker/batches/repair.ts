/**
 * Repairs of rollups after a takeover: the insert of a worker that ended may be in `clicks` and not in a view, and its
 * repetition may have other rows, if GeoIP data or the worker's version has changed in between.
 */
import type postgres from "postgres";

import { REPAIR_LOCK } from "../../shared/clicks/lock.ts";
import { type ClickHouse, findDifferences, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import type { Log } from "../../shared/log.ts";
import type { ClickSpan } from "./deps.ts";

/** Pause before a repair is tried again for which PostgreSQL did not give the lock. */
const RETRY_MS = 10_000;

/** Most spans that wait for a repair. Beyond it, the oldest is left to the consistency check. */
const WAITING_MAX = 100;

export type Repairs = {
  /** Repairs what waits, and this span. When PostgreSQL is down it waits, because two repairs at once would be wrong. */
  repair(span?: ClickSpan): Promise<void>;
  /** Buckets that were rebuilt. */
  rebuilt(): number;
};

type RepairsDeps = { sql: postgres.Sql; clickhouse: ClickHouse; log: Log };

/** Creates the repairs. They must run while nothing is inserted: a click on its way looks like a difference. */
export function createRepairs({ sql, clickhouse, log }: RepairsDeps): Repairs {
  const waiting: ClickSpan[] = [];
  let retryAt = 0;
  let rebuilt = 0;

  /** Returns whether the lock was free. */
  const repairLocked = ({ firstClick, lastClick }: ClickSpan): Promise<boolean> =>
    sql.begin(async (transaction) => {
      const [row] = await transaction<[{ locked: boolean }]>`
        select pg_try_advisory_xact_lock(${REPAIR_LOCK}) as locked`;
      if (!row.locked) return false;
      const range = { from: Math.floor(firstClick / 1_000), to: Math.floor(lastClick / 1_000) + 1 };
      const differences = await findDifferences(clickhouse, range, "touched");
      if (differences.length > 0) {
        log.warn({ differences: differences.length }, "half_done_insert_repaired");
        await rebuildBuckets(clickhouse, differences);
        rebuilt += differences.length;
      }
      return true;
    });

  return {
    async repair(span) {
      if (span !== undefined) {
        waiting.push(span);
        waiting.splice(0, waiting.length - WAITING_MAX);
        retryAt = 0;
      }
      if (performance.now() < retryAt) return;
      try {
        for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
          if (!(await repairLocked(next))) throw new Error("Another repair is running.");
          waiting.shift();
        }
      } catch (error) {
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error, waiting: waiting.length }, "repair_postponed");
      }
    },
    rebuilt: () => rebuilt,
  };
}

/**
 * Repairs of rollups after a takeover: the insert of a worker that ended may be in `clicks` and not in a view, and its
 * repetition may have other rows, if GeoIP data or the worker's version has changed in between.
 */
import type postgres from "postgres";

import {
  type ClickHouse,
  findDifferences,
  linksOf,
  rebuildBuckets,
} from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { takeRepairLock } from "../repair-lock.ts";
import { type ClickSpan, isLost } from "./deps.ts";

/** Pause before a repair is tried again for which PostgreSQL did not give the lock. */
const RETRY_MS = 10_000;

/** Most spans that wait for a repair. Beyond it, the oldest is left to the consistency check. */
const WAITING_MAX = 100;

export type Repairs = {
  /**
   * Repairs what waits, and this span. When PostgreSQL is down it waits, because two repairs at once would be wrong.
   * Returns whether nothing waits any more. Throws `LostOwnershipError` when `confirm` does: the clicks that
   * another owner is inserting would look like differences.
   */
  repair(confirm: () => Promise<void>, span?: ClickSpan): Promise<boolean>;
  /** Buckets that were rebuilt. */
  rebuilt(): number;
};

type RepairsDeps = {
  sql: postgres.Sql;
  clickhouse: ClickHouse;
  log: Log;
  /** Called with the links whose rollups were rebuilt: their figures have changed. */
  onRebuilt: (linkIds: Iterable<Uuid>) => void;
};

/** Creates the repairs. They must run while nothing is inserted: a click on its way looks like a difference. */
export function createRepairs({ sql, clickhouse, log, onRebuilt }: RepairsDeps): Repairs {
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
    onRebuilt(linksOf(differences));
    rebuilt += differences.length;
  }

  async function repairWaiting(confirm: () => Promise<void>): Promise<void> {
    const lock = await takeRepairLock(sql);
    const confirmBoth = async (): Promise<void> => {
      await confirm();
      lock.confirm();
    };
    try {
      for (let span = waiting[0]; span !== undefined; span = waiting[0]) {
        await repairSpan(span, confirmBoth);
        waiting.shift();
      }
    } finally {
      lock.release();
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
        if (isLost(error)) throw error;
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error, waiting: waiting.length }, "repair_postponed");
        return false;
      }
    },
    rebuilt: () => rebuilt,
  };
}

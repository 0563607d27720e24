/**
 * Repairs rollups, by the owner between its inserts. After a takeover, the last insert of a killed worker may be in `clicks`
 * and not in a rollup, and its repetition may have other rows if GeoIP data or the worker's version has changed in between.
 * Also repairs differences that a comparison found while clicks were stored.
 */
import type postgres from "postgres";

import {
  type ClickHouse,
  compareAgain,
  type Difference,
  findDifferences,
  rebuildBuckets,
} from "../../shared/clicks/rollups.ts";
import type { Log } from "../../shared/log.ts";
import { takeRepairLock } from "../repair-lock.ts";
import { type ClickSpan, isLost } from "./deps.ts";

/** Pause before a repair is retried that could not get PostgreSQL's lock. */
const RETRY_MS = 10_000;

/** Most spans that wait for a repair. Beyond it, the consistency check repairs the oldest. */
const WAITING_MAX = 100;

/** Most lists of suspected differences that wait. Beyond it, the next comparison finds the oldest again. */
const SUSPECTED_MAX = 10;

/** Time for suspected differences between two inserts: clicks wait meanwhile. */
const SLICE_MS = 2_000;

export type Repairs = {
  /**
   * Repairs the waiting spans and this one. They wait while PostgreSQL is down, because two repairs at once would be wrong.
   * Returns whether no span waits any more. Throws `LostOwnershipError` when `confirm` does: clicks that another owner is
   * inserting would look like differences.
   */
  repair(confirm: () => Promise<void>, span?: ClickSpan): Promise<boolean>;
  /**
   * Compares these buckets again between the next inserts, and rebuilds those that still differ: clicks that were being
   * inserted during the first comparison are no difference. `done` is called with the rebuilt buckets, unless another worker
   * takes over before.
   */
  suspect(differences: readonly Difference[], done: (rebuilt: Difference[]) => void): void;
  /** Buckets that were rebuilt because an insert was half done. */
  rebuilt(): number;
};

type RepairsDeps = {
  sql: postgres.Sql;
  clickhouse: ClickHouse;
  log: Log;
  /** Called with the rebuilt buckets: the counts of their links have changed. */
  onRebuilt: (differences: readonly Difference[]) => void;
};

type Comparison = {
  /** Still to be compared; each list is of one bucket of one table. */
  buckets: Difference[][];
  rebuilt: Difference[];
  done: (rebuilt: Difference[]) => void;
};

/** Creates the repairs. They must run while nothing is inserted: a click on its way looks like a difference. */
export function createRepairs({ sql, clickhouse, log, onRebuilt }: RepairsDeps): Repairs {
  const waiting: ClickSpan[] = [];
  const suspected: Comparison[] = [];
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
    await rebuild(differences);
    rebuilt += differences.length;
  }

  async function rebuild(differences: readonly Difference[]): Promise<void> {
    await rebuildBuckets(clickhouse, differences);
    onRebuilt(differences);
  }

  const repairWaiting = (confirm: () => Promise<void>, isBetweenInserts: boolean): Promise<void> =>
    withRepairLock(sql, confirm, async (confirmBoth) => {
      for (let span = waiting[0]; span !== undefined; span = waiting[0]) {
        await repairSpan(span, confirmBoth);
        waiting.shift();
      }
      if (isBetweenInserts) await repairSuspected(clickhouse, suspected, confirmBoth, rebuild);
    });

  return {
    async repair(confirm, span) {
      if (span !== undefined) {
        waiting.push(span);
        if (waiting.length > WAITING_MAX) waiting.shift();
        retryAt = 0;
      }
      // While a batch in doubt is settled, another may still be on its way.
      const isBetweenInserts = span === undefined;
      if (waiting.length === 0 && !(isBetweenInserts && suspected.length > 0)) return true;
      if (performance.now() < retryAt) return waiting.length === 0;
      try {
        await repairWaiting(confirm, isBetweenInserts);
      } catch (error) {
        if (isLost(error)) {
          // The new owner compares again.
          suspected.length = 0;
          throw error;
        }
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error, waiting: waiting.length + suspected.length }, "repair_postponed");
      }
      return waiting.length === 0;
    },
    suspect(differences, done) {
      const buckets = Map.groupBy(differences, ({ table, bucket }) => `${table} ${bucket}`);
      suspected.push({ buckets: [...buckets.values()], rebuilt: [], done });
      if (suspected.length > SUSPECTED_MAX) suspected.shift();
    },
    rebuilt: () => rebuilt,
  };
}

/** Calls `work` with PostgreSQL's lock and a function that confirms it, besides calling `confirm`. */
async function withRepairLock(
  sql: postgres.Sql,
  confirm: () => Promise<void>,
  work: (confirmBoth: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const lock = await takeRepairLock(sql);
  try {
    await work(async () => {
      await confirm();
      lock.confirm();
    });
  } finally {
    lock.release();
  }
}

/** Works on the suspected differences for a while, and removes those that are done. */
async function repairSuspected(
  clickhouse: ClickHouse,
  suspected: Comparison[],
  confirm: () => Promise<void>,
  rebuild: (differences: readonly Difference[]) => Promise<void>,
): Promise<void> {
  const end = performance.now() + SLICE_MS;
  for (let job = suspected[0]; job !== undefined; job = suspected[0]) {
    for (let bucket = job.buckets[0]; bucket !== undefined; bucket = job.buckets[0]) {
      await confirm();
      const differences = await compareAgain(clickhouse, bucket);
      if (differences.length > 0) {
        await confirm();
        await rebuild(differences);
        job.rebuilt.push(...differences);
      }
      job.buckets.shift();
      if (performance.now() >= end) break;
    }
    if (job.buckets.length > 0) return;
    suspected.shift();
    job.done(job.rebuilt);
  }
}

/**
 * Repairs the differences that a comparison suspected while clicks were stored, by the owner
 * between its inserts.
 */
import type postgres from "postgres";

import {
  type ClickHouse,
  compareAgain,
  type Difference,
  groupDifferences,
  rebuildBuckets,
} from "../../shared/clicks/rollups.ts";
import type { Log } from "../../shared/log.ts";
import { takeRepairLock } from "../repair-lock.ts";
import { isLost } from "./deps.ts";

/** Pause before a repair is retried that could not get PostgreSQL's lock. */
const RETRY_MS = 10_000;

/**
 * Most lists of suspected differences that wait. Beyond it, the next comparison finds the oldest
 * again.
 */
const SUSPECTED_MAX = 10;

/** Time for suspected differences between two inserts: clicks wait meanwhile. */
const SLICE_MS = 2_000;

export type Repairs = {
  /**
   * Works on the suspected differences for a while. They wait while PostgreSQL is down, because two
   * repairs at once would be wrong. Throws `LostOwnershipError` when `confirm` does: clicks that
   * another owner is inserting would look like differences.
   */
  repair(confirm: () => Promise<void>): Promise<void>;
  /**
   * Compares these buckets again between the next inserts, and rebuilds those that still differ:
   * clicks that were being inserted during the first comparison are no difference. `done` is called
   * with the rebuilt buckets, unless another worker takes over before.
   */
  suspect(differences: readonly Difference[], done: (rebuilt: Difference[]) => void): void;
};

type RepairsDeps = {
  sql: postgres.Sql;
  clickhouse: ClickHouse;
  log: Log;
  /** Called with the rebuilt buckets: the counts of their links have changed. */
  onRebuilt: (differences: readonly Difference[]) => void;
};

type Comparison = {
  /** Still to be compared. */
  groups: Difference[][];
  rebuilt: Difference[];
  done: (rebuilt: Difference[]) => void;
};

/**
 * Creates the repairs. They must run while nothing is inserted: a click on its way looks like a
 * difference.
 */
export function createRepairs({ sql, clickhouse, log, onRebuilt }: RepairsDeps): Repairs {
  const suspected: Comparison[] = [];
  let retryAt = 0;

  async function repairSuspected(confirm: () => Promise<void>): Promise<void> {
    const end = performance.now() + SLICE_MS;
    for (let job = suspected[0]; job !== undefined; job = suspected[0]) {
      for (let group = job.groups[0]; group !== undefined; group = job.groups[0]) {
        await confirm();
        const differences = await compareAgain(clickhouse, group);
        if (differences.length > 0) {
          // The comparison takes long enough for another worker to take over and insert.
          await confirm();
          await rebuildBuckets(clickhouse, differences);
          onRebuilt(differences);
          job.rebuilt.push(...differences);
        }
        job.groups.shift();
        if (performance.now() >= end) break;
      }
      if (job.groups.length > 0) return;
      suspected.shift();
      job.done(job.rebuilt);
    }
  }

  async function repairLocked(confirm: () => Promise<void>): Promise<void> {
    const lock = await takeRepairLock(sql);
    try {
      await repairSuspected(async () => {
        await confirm();
        lock.confirm();
      });
    } finally {
      lock.release();
    }
  }

  return {
    async repair(confirm) {
      if (suspected.length === 0 || performance.now() < retryAt) return;
      try {
        await repairLocked(confirm);
      } catch (error) {
        if (isLost(error)) {
          // The new owner compares again.
          suspected.length = 0;
          throw error;
        }
        retryAt = performance.now() + RETRY_MS;
        log.warn({ error, waiting: suspected.length }, "repair_postponed");
      }
    },
    suspect(differences, done) {
      suspected.push({ groups: groupDifferences(differences), rebuilt: [], done });
      if (suspected.length > SUSPECTED_MAX) suspected.shift();
    },
  };
}

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
} from "../shared/clicks/rollups.ts";
import type { Log } from "../shared/log.ts";
import { withTimeout } from "../shared/timeout.ts";
import { isLost } from "./batches/owner.ts";
import type { Context } from "./context.ts";
import type { Counters } from "./counters.ts";

/** Pause before a repair is retried that could not get PostgreSQL's lock. */
const RETRY_MS = 10_000;

/** Maximum lists that wait; the next comparison finds the oldest differences again. */
const SUSPECTED_MAX = 10;

/** Time for suspected differences between two inserts: clicks wait meanwhile. */
const SLICE_MS = 2_000;

type Comparison = {
  /** Still to be compared. */
  groups: Difference[][];
  rebuilt: Difference[];
  done: (rebuilt: Difference[]) => void;
};

export class Repairs {
  readonly #sql: postgres.Sql;
  readonly #clickhouse: ClickHouse;
  readonly #log: Log;
  readonly #counters: Counters;
  readonly #suspected: Comparison[] = [];
  #retryAt = 0;

  constructor({ sql, clickhouse, log }: Context, counters: Counters) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
    this.#log = log;
    this.#counters = counters;
  }

  /**
   * Compares these buckets again between the next inserts, and rebuilds those that still differ:
   * clicks that were being inserted during the first comparison are no difference. `done` is called
   * with the rebuilt buckets, unless another worker takes over before.
   */
  suspect(differences: readonly Difference[], done: (rebuilt: Difference[]) => void): void {
    this.#suspected.push({ groups: groupDifferences(differences), rebuilt: [], done });
    if (this.#suspected.length > SUSPECTED_MAX) this.#suspected.shift();
  }

  /**
   * Works on the suspected differences for a while. Nothing may be inserted meanwhile: a click on
   * its way looks like a difference. They wait while PostgreSQL is down, because two repairs at
   * once would be wrong. Throws `LostOwnershipError` when `confirm` does: clicks that another owner
   * is inserting would look like differences.
   */
  async repair(confirm: () => Promise<void>): Promise<void> {
    if (this.#suspected.length === 0 || performance.now() < this.#retryAt) return;
    try {
      await this.#repairLocked(confirm);
    } catch (error) {
      if (isLost(error)) {
        // The new owner compares again.
        this.#suspected.length = 0;
        throw error;
      }
      this.#retryAt = performance.now() + RETRY_MS;
      this.#log.warn({ error, waiting: this.#suspected.length }, "repair_postponed");
    }
  }

  async #repairLocked(confirm: () => Promise<void>): Promise<void> {
    const lock = await RepairLock.take(this.#sql);
    try {
      await this.#repairSuspected(async () => {
        await confirm();
        lock.confirm();
      });
    } finally {
      lock.release();
    }
  }

  async #repairSuspected(confirm: () => Promise<void>): Promise<void> {
    const end = performance.now() + SLICE_MS;
    for (let job = this.#suspected[0]; job !== undefined; job = this.#suspected[0]) {
      for (let group = job.groups[0]; group !== undefined; group = job.groups[0]) {
        await confirm();
        const differences = await compareAgain(this.#clickhouse, group);
        if (differences.length > 0) {
          // The comparison takes long enough for another worker to take over and insert.
          await confirm();
          await rebuildBuckets(this.#clickhouse, differences);
          this.#counters.correct(differences);
          job.rebuilt.push(...differences);
        }
        job.groups.shift();
        if (performance.now() >= end) break;
      }
      if (job.groups.length > 0) return;
      this.#suspected.shift();
      job.done(job.rebuilt);
    }
  }
}

/** PostgreSQL's advisory lock for repairs: two at once would correct the same difference twice. */
const REPAIR_LOCK = 7_302_114;

/** A PostgreSQL that does not respond must not delay clicks for longer. */
const LOCK_TIMEOUT_MS = 3_000;

export class AnotherRepairError extends Error {
  override name = "AnotherRepairError";
}

/** The lock, held by a transaction that stays open meanwhile. */
export class RepairLock {
  readonly #released = Promise.withResolvers<void>();
  #isGone = false;

  /** Throws an {@link AnotherRepairError} if it is taken, and if PostgreSQL does not respond. */
  static async take(sql: postgres.Sql): Promise<RepairLock> {
    const lock = new RepairLock();
    try {
      if (!(await withTimeout(lock.#open(sql), LOCK_TIMEOUT_MS)))
        throw new AnotherRepairError("Another repair is running.");
    } catch (error) {
      // If the lock is granted later, it is released at once.
      lock.release();
      throw error;
    }
    return lock;
  }

  /** Throws when PostgreSQL has released the lock, because the connection was lost. */
  confirm(): void {
    if (this.#isGone) throw new Error("PostgreSQL has given up the lock.");
  }

  release(): void {
    // The transaction of a lost connection must not continue: the library's commit would end the
    // process (github.com/porsager/postgres/issues/1208).
    if (!this.#isGone) this.#released.resolve();
  }

  #open(sql: postgres.Sql): Promise<boolean> {
    const locked = Promise.withResolvers<boolean>();
    sql
      .begin(async (transaction) => {
        const [row] = await transaction<[{ locked: boolean }]>`
          select pg_try_advisory_xact_lock(${REPAIR_LOCK}) as locked`;
        locked.resolve(row.locked);
        if (row.locked) await this.#released.promise;
      })
      .catch((error: unknown) => {
        this.#isGone = true;
        locked.reject(error);
      });
    return locked.promise;
  }
}

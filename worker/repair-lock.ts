/** The lock for repairs of rollups: two at once would correct the same difference twice. */
import type postgres from "postgres";

import { REPAIR_LOCK } from "../shared/clicks/lock.ts";
import { withTimeout } from "../shared/timeout.ts";

/** A PostgreSQL that does not respond must not delay clicks for longer. */
const LOCK_TIMEOUT_MS = 3_000;

export class AnotherRepairError extends Error {
  override name = "AnotherRepairError";
}

export type RepairLock = {
  /** Throws when PostgreSQL has released the lock, because the connection was lost. */
  confirm(): void;
  release(): void;
};

/**
 * Takes the lock. Throws an {@link AnotherRepairError} when it is taken, and an error when
 * PostgreSQL does not respond.
 */
export async function takeRepairLock(sql: postgres.Sql): Promise<RepairLock> {
  const locked = Promise.withResolvers<boolean>();
  const released = Promise.withResolvers<void>();
  let isGone = false;
  sql
    .begin(async (transaction) => {
      const [row] = await transaction<[{ locked: boolean }]>`
        select pg_try_advisory_xact_lock(${REPAIR_LOCK}) as locked`;
      locked.resolve(row.locked);
      if (row.locked) await released.promise;
    })
    .catch((error: unknown) => {
      isGone = true;
      locked.reject(error);
    });
  const release = (): void => {
    // The transaction of a lost connection must not continue: the library's commit would end the
    // process (github.com/porsager/postgres/issues/1208).
    if (!isGone) released.resolve();
  };
  try {
    if (!(await withTimeout(locked.promise, LOCK_TIMEOUT_MS)))
      throw new AnotherRepairError("Another repair is running.");
  } catch (error) {
    // If the lock is granted later, it is released at once.
    release();
    throw error;
  }
  return {
    confirm() {
      if (isGone) throw new Error("PostgreSQL has given up the lock.");
    },
    release,
  };
}

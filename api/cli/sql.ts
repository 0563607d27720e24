/** SQL statements of the command line. */
import { REPAIR_LOCK } from "../../shared/clicks/lock.ts";
import type { Transaction } from "../postgres.ts";

/** Waits until no other process rebuilds rollups, and keeps others waiting until the transaction ends. */
export async function lockRollupRepair(transaction: Transaction): Promise<void> {
  await transaction`select pg_advisory_xact_lock(${REPAIR_LOCK})`;
}

/**
 * The outbox of the links log: states that a transaction adds to it become entries of the log after
 * the commit, whoever publishes these.
 */
import {
  type LinkMessage,
  type LinkRecord,
  toMessage,
} from "../../shared/contracts/link-record.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { insertStates, type OutboxStats, selectOutboxStats } from "./sql.ts";

/** Adds states to the outbox, which the caller publishes after the commit. */
export async function addToOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<void> {
  if (records.length === 0) return;
  await insertStates(
    transaction,
    records.map((record) => ({
      domain: record.domain,
      alias: record.alias,
      state: JSON.stringify(toMessage<LinkMessage>(record)),
    })),
  );
}

/** Reads what the tail has not acknowledged. */
export const readOutbox = async (sql: Sql): Promise<OutboxStats> => await selectOutboxStats(sql);

/** The same threshold as the alert ShorthopOutboxOld. */
const WAITING_WARNING_SECONDS = 60;

/**
 * Describes how long the oldest change has been waiting, if that is too long. `now` is in
 * milliseconds.
 */
export function describeOutbox(
  { pending, oldest }: OutboxStats,
  now = Date.now(),
): string | undefined {
  if (oldest === null) return undefined;
  const seconds = Math.floor(now / 1_000 - oldest);
  if (seconds < WAITING_WARNING_SECONDS) return undefined;
  return `${pending} changes of links are not published, the oldest for ${seconds} s: redirectors serve these links as they were`;
}

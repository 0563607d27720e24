/**
 * The links log in PostgreSQL: what a transaction adds to the outbox becomes entries after its
 * commit, which wait there until the tail has acknowledged them.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  comparePositions,
  EMPTY_HEAD,
  type Head,
  type Position,
} from "../../shared/links-log/entry.ts";
import type { Sql, Transaction } from "../postgres.ts";
import {
  callNumbering,
  insertStates,
  type LogHead,
  type OutboxStats,
  readAcknowledged,
  replaceHead,
  selectOutboxStats,
} from "./sql.ts";

export type { LogHead } from "./sql.ts";

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
      state: JSON.stringify(record),
    })),
  );
}

/**
 * Moves what waits in the outbox into the log: above a term if one is given, and with an empty
 * entry if nothing waits and a heartbeat is due. Returns the head, and whether the log has `entry`.
 */
export const numberLog = async (
  sql: Sql | Transaction,
  above: number | undefined,
  heartbeat: boolean,
  entry: Head = EMPTY_HEAD,
): Promise<LogHead> => await callNumbering(sql, above, heartbeat, entry);

/** Numbers everything that was committed; the head comes after all that was read before. */
export async function numberAll(sql: Sql): Promise<LogHead> {
  for (;;) {
    const head = await numberLog(sql, undefined, false);
    if (!head.hasMore) return head;
  }
}

/**
 * Begins a history that continues no other one, in a term of its own: every host takes a snapshot.
 * With the identity of another database if one is given. Returns the head.
 */
export const cutLog = async (sql: Sql, database?: Uuid): Promise<LogHead> =>
  await sql.begin(async (transaction) =>
    numberLog(transaction, await replaceHead(transaction, database), false),
  );

/** Whether the tail has acknowledged an entry. */
export async function isAcknowledged(sql: Sql, entry: Position): Promise<boolean> {
  const acknowledged = await readAcknowledged(sql);
  return acknowledged !== undefined && comparePositions(acknowledged, entry) >= 0;
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

/** Numbers what was committed: the outbox becomes entries of the links log. */
import type { Uuid } from "../../shared/ids.ts";
import {
  comparePositions,
  EMPTY_HEAD,
  type Head,
  type Position,
} from "../../shared/links-log/entry.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { callNumbering, readAcknowledged, replaceHead } from "./sql.ts";

/** The end of the log. */
export type LogHead = Head & {
  database: Uuid;
  /** The last entry that the tail has acknowledged; undefined before the first one. */
  acknowledged: Position | undefined;
  /** Whether more waits in the outbox. */
  hasMore: boolean;
  /** Whether the log has a certain entry. */
  isKnown: boolean;
  /** Whether there is no account, and so no link was ever created in this database. */
  isEmpty: boolean;
};

/**
 * Moves what waits in the outbox into the log: above a term if one is given, and with an empty
 * entry if nothing waits and a heartbeat is due. Returns the head, and whether the log has `entry`.
 */
export async function numberLog(
  sql: Sql | Transaction,
  above: number | undefined,
  heartbeat: boolean,
  entry: Head = EMPTY_HEAD,
): Promise<LogHead> {
  const row = await callNumbering(sql, above, heartbeat, entry);
  const { acknowledged_term: term, acknowledged_position: position } = row;
  return {
    database: row.database,
    term: row.term,
    position: row.position,
    hash: row.hash,
    acknowledged: term === null || position === null ? undefined : { term, position },
    hasMore: row.has_more,
    isKnown: row.is_known,
    isEmpty: row.is_empty,
  };
}

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

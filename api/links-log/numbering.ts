/**
 * The links log in PostgreSQL: what was committed is numbered, so the outbox becomes entries, which
 * stay until some time after the tail has acknowledged them.
 */
import type { Uuid } from "../../shared/ids.ts";
import {
  comparePositions,
  EMPTY_HEAD,
  type Head,
  type Position,
} from "../../shared/links-log/entry.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Rows of {@link selectEntries} at most: as many of the largest entries are as much as a pull. */
const ENTRIES_MAX = 128;

/** How long entries stay after they were acknowledged, so that they can be published again. */
const KEPT = "1 hour";

/** Entries that are deleted at once. */
const DELETED_AT_ONCE = 1_000;

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

/** As a call of `number_link_log()` returns the head. */
type HeadRow = Head & {
  database: Uuid;
  acknowledged_term: number | null;
  acknowledged_position: number | null;
  has_more: boolean;
  is_known: boolean;
  is_empty: boolean;
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
  const [row] = await sql<[HeadRow]>`
    select head.database, head.term::float8 as term, head.position::float8 as position, head.hash,
           head.acknowledged_term::float8 as acknowledged_term,
           head.acknowledged_position::float8 as acknowledged_position, head.has_more,
           exists (select from link_log where position = ${entry.position} and hash = ${entry.hash}) as is_known,
           not exists (select from accounts) as is_empty
      from number_link_log(${above ?? null}::bigint, ${heartbeat}) head`;
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
 * Begins a history that continues no other one, in a term of its own, by a hash that no entry has:
 * every host takes a snapshot. With the identity of another database if one is given. Returns the
 * head.
 */
export const cutLog = async (sql: Sql, database?: Uuid): Promise<LogHead> =>
  await sql.begin(async (transaction) => {
    const [{ term }] = await transaction<[{ term: number }]>`
      update link_log_head
         set database = coalesce(${database ?? null}::uuid, database),
             hash = encode(sha256(gen_random_uuid()::text::bytea), 'hex')
      returning term::float8 as term`;
    return await numberLog(transaction, term, false);
  });

/** Whether the tail has acknowledged an entry. */
export async function isAcknowledged(sql: Sql, entry: Position): Promise<boolean> {
  const acknowledged = await readAcknowledged(sql);
  return acknowledged !== undefined && comparePositions(acknowledged, entry) >= 0;
}

/** Reads the last entry that the tail has acknowledged; undefined before the first one. */
export async function readAcknowledged(sql: Sql): Promise<Position | undefined> {
  const [row] = await sql<Position[]>`
    select acknowledged_term::float8 as term, acknowledged_position::float8 as position
      from link_log_head where acknowledged_position is not null`;
  return row;
}

/** An entry as it is published. */
export type LogEntry = Head & { bytes: Uint8Array };

/** Reads the next entries after a position. */
export const selectEntries = async (sql: Sql, after: number): Promise<LogEntry[]> =>
  await sql<LogEntry[]>`
    select term::float8 as term, position::float8 as position, hash, bytes
      from link_log where position > ${after} order by position limit ${ENTRIES_MAX}`;

/** Records the last entry that was acknowledged, and deletes those that are no longer needed. */
export async function acknowledgeEntries(sql: Sql, { term, position }: Position): Promise<void> {
  await sql`
    with acknowledged as (
      update link_log_head set acknowledged_term = ${term}, acknowledged_position = ${position}
       where acknowledged_position is null or acknowledged_position < ${position})
    delete from link_log
     where position < ${position} and created_at < now() - ${KEPT}::interval
       and position in (select position from link_log order by position limit ${DELETED_AT_ONCE})`;
}

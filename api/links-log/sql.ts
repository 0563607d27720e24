/** SQL statements on the links log. */
import type { ShortLink } from "../../shared/contracts/short-link.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Head, Position } from "../../shared/links-log/entry.ts";
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
  /** Of the last entry that the tail has acknowledged; 0 before the first one. */
  acknowledgedPosition: number;
  /** Whether more waits in the outbox. */
  hasMore: boolean;
  /** Whether the log has a certain entry. */
  isKnown: boolean;
  /** Whether there is no account, and so no link was ever created in this database. */
  isEmpty: boolean;
};

/**
 * Calls `number_link_log()`, and says whether the log has an entry, and the database an account.
 */
export async function callNumbering(
  sql: Sql | Transaction,
  above: number | undefined,
  heartbeat: boolean,
  entry: Head,
): Promise<LogHead> {
  const [row] = await sql<[LogHead]>`
    select head.database, head.term::float8 as term, head.position::float8 as position, head.hash,
           coalesce(head.acknowledged_position, 0)::float8 as "acknowledgedPosition", head.has_more as "hasMore",
           exists (select from link_log where position = ${entry.position} and hash = ${entry.hash}) as "isKnown",
           not exists (select from accounts) as "isEmpty"
      from number_link_log(${above ?? null}::bigint, ${heartbeat}) head`;
  return row;
}

/**
 * Gives the head a hash that no entry has, and the identity of another database if one is given.
 * Returns the term.
 */
export async function replaceHead(
  transaction: Transaction,
  database: Uuid | undefined,
): Promise<number> {
  const [row] = await transaction<[{ term: number }]>`
    update link_log_head
       set database = coalesce(${database ?? null}::uuid, database),
           hash = encode(sha256(gen_random_uuid()::text::bytea), 'hex')
    returning term::float8 as term`;
  return row.term;
}

/** Adds states to the outbox, in their order. */
export async function insertStates(
  transaction: Transaction,
  changed: readonly (ShortLink & { state: string })[],
): Promise<void> {
  await transaction`
    insert into link_outbox (domain, alias, state)
    select domain, alias, state
      from unnest(${changed.map(({ domain }) => domain)}::text[], ${changed.map(({ alias }) => alias)}::text[],
                  ${changed.map(({ state }) => state)}::text[]) with ordinality as changed (domain, alias, state, place)
     order by place`;
}

/**
 * What the tail has not acknowledged: the number of states in the outbox and of entries, and the
 * time of the oldest in Unix seconds; null when there is none.
 */
export type OutboxStats = { pending: number; oldest: number | null };

/** An entry without states is no change. */
export async function selectOutboxStats(sql: Sql): Promise<OutboxStats> {
  const [row] = await sql<[OutboxStats]>`
    select count(*)::int as pending, extract(epoch from min(created_at))::float8 as oldest
      from (select created_at from link_outbox
             union all
            select log.created_at from link_log log, link_log_head head
             where log.position > coalesce(head.acknowledged_position, 0) and position(E'\\n'::bytea in log.bytes) > 0) waiting`;
  return row;
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

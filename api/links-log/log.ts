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
} from "../../shared/links-log/entries.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Adds states to the outbox, in their order; the caller publishes after the commit. */
export async function addToOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const domains = records.map(({ domain }) => domain);
  const aliases = records.map(({ alias }) => alias);
  const states = records.map((record) => JSON.stringify(record));
  await transaction`
    insert into link_outbox (domain, alias, state)
    select domain, alias, state
      from unnest(${domains}::text[], ${aliases}::text[], ${states}::text[])
           with ordinality as changed (domain, alias, state, place)
     order by place`;
}

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
 * Moves what waits in the outbox into the log: above a term if one is given, and with an empty
 * entry if nothing waits and a heartbeat is due. Returns the head, and whether the log has `entry`.
 */
export async function numberLog(
  sql: Sql | Transaction,
  numbering: { above?: number; heartbeat?: boolean; entry?: Head | undefined } = {},
): Promise<LogHead> {
  const { above, heartbeat = false, entry = EMPTY_HEAD } = numbering;
  const [row] = await sql<[LogHead]>`
    select head.database, head.term::float8 as term, head.position::float8 as position, head.hash,
           coalesce(head.acknowledged_position, 0)::float8 as "acknowledgedPosition", head.has_more as "hasMore",
           exists (select from link_log where position = ${entry.position} and hash = ${entry.hash}) as "isKnown",
           not exists (select from accounts) as "isEmpty"
      from number_link_log(${above ?? null}::bigint, ${heartbeat}) head`;
  return row;
}

/** Numbers everything that was committed; the head comes after all that was read before. */
export async function numberAll(sql: Sql): Promise<LogHead> {
  for (;;) {
    const head = await numberLog(sql);
    if (!head.hasMore) return head;
  }
}

/**
 * Begins a history that continues no other one, in a term of its own: every host takes a snapshot.
 * With the identity of another database if one is given. Returns the head.
 */
export const cutLog = async (sql: Sql, database?: Uuid): Promise<LogHead> =>
  await sql.begin(async (transaction) => {
    const [{ term }] = await transaction<[{ term: number }]>`
      update link_log_head
         set database = coalesce(${database ?? null}::uuid, database),
             hash = encode(sha256(gen_random_uuid()::text::bytea), 'hex')
      returning term::float8 as term`;
    return numberLog(transaction, { above: term });
  });

/** An entry as it is published. */
export type LogEntry = Head & { bytes: Uint8Array };

/** Rows of {@link selectEntries} at most: as many of the largest entries are as much as a pull. */
const ENTRIES_MAX = 128;

/** Reads the next entries after a position. */
export const selectEntries = async (sql: Sql, after: number): Promise<LogEntry[]> =>
  await sql<LogEntry[]>`
    select term::float8 as term, position::float8 as position, hash, bytes
      from link_log where position > ${after} order by position limit ${ENTRIES_MAX}`;

/**
 * How long entries stay after they were acknowledged, so that they can be published again; and the
 * age of the first one from which those are looked for that may go, many at once.
 */
const KEPT = "1 hour";
const KEPT_LONGEST = "1 hour 30 seconds";

const DELETED_AT_ONCE = 1_000;

/** Records the last entry that was acknowledged, and deletes those that are no longer needed. */
export async function acknowledgeEntries(sql: Sql, { term, position }: Position): Promise<void> {
  await sql`
    with acknowledged as (
      update link_log_head set acknowledged_term = ${term}, acknowledged_position = ${position}
       where acknowledged_position is null or acknowledged_position < ${position})
    delete from link_log
     where (select created_at from link_log order by position limit 1) < now() - ${KEPT_LONGEST}::interval
       and position < ${position} and created_at < now() - ${KEPT}::interval
       and position in (select position from link_log order by position limit ${DELETED_AT_ONCE})`;
}

/** Reads the last entry that the tail has acknowledged; undefined before the first one. */
export async function readAcknowledged(sql: Sql): Promise<Position | undefined> {
  const [row] = await sql<Position[]>`
    select acknowledged_term::float8 as term, acknowledged_position::float8 as position
      from link_log_head where acknowledged_position is not null`;
  return row;
}

/** Whether the tail has acknowledged an entry. */
export async function isAcknowledged(sql: Sql, entry: Position): Promise<boolean> {
  const acknowledged = await readAcknowledged(sql);
  return acknowledged !== undefined && comparePositions(acknowledged, entry) >= 0;
}

/**
 * What the tail has not acknowledged: the number of states in the outbox and of entries, and the
 * time of the oldest in Unix seconds; null when there is none.
 */
export type OutboxStats = { pending: number; oldest: number | null };

/** Reads what the tail has not acknowledged. An entry without states is no change. */
export async function readOutbox(sql: Sql): Promise<OutboxStats> {
  const [row] = await sql<[OutboxStats]>`
    select count(*)::int as pending, extract(epoch from min(created_at))::float8 as oldest
      from (select created_at from link_outbox
             union all
            select log.created_at from link_log log, link_log_head head
             where log.position > coalesce(head.acknowledged_position, 0) and position(E'\\n'::bytea in log.bytes) > 0) waiting`;
  return row;
}

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

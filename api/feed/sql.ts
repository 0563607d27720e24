/** SQL statements on the outbox of link changes. */
import { REPAIR_LOCK } from "../../shared/clicks/lock.ts";
import type { LinkMessage } from "../../shared/contracts/link-record.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import type { Sql, Transaction } from "../postgres.ts";

/**
 * Selects the oldest outbox entries that are at least `ageSeconds` old and locks them until the
 * transaction ends. Skips entries that another relay has locked.
 */
export async function lockPendingEntries(
  transaction: Transaction,
  ageSeconds: number,
  limit: number,
): Promise<{ id: string; record: LinkMessage }[]> {
  return await transaction<{ id: string; record: LinkMessage }[]>`
    select id, record from link_outbox
     where created_at < now() - make_interval(secs => ${ageSeconds})
     order by id limit ${limit}
       for update skip locked`;
}

/**
 * Adds messages to the outbox; returns the ids of the rows, in the order of the messages. Dates
 * `overdue` ones back, so that relays do not wait for the process that wrote them.
 */
export async function insertMessages(
  transaction: Transaction,
  messages: readonly LinkMessage[],
  overdue: boolean,
): Promise<number[]> {
  const rows = await transaction<{ id: string }[]>`
    insert into link_outbox (version, record, created_at)
    select (record ->> 'version')::bigint, record, now() - make_interval(mins => ${overdue ? 1 : 0})
      from jsonb_array_elements(${transaction.json([...messages])}::jsonb) with ordinality as change (record, place)
     order by place
    returning id`;
  return rows.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
}

export async function deleteEntries(sql: Sql | Transaction, ids: readonly string[]): Promise<void> {
  await sql`delete from link_outbox where id = any (${[...ids]}::bigint[])`;
}

/**
 * The number of changes in the outbox, and the time of the oldest in Unix seconds; null when empty.
 */
export type OutboxStats = { pending: number; oldest: number | null };

export async function selectOutboxStats(sql: Sql): Promise<OutboxStats> {
  const [row] = await sql<[OutboxStats]>`
    select count(*)::int as pending, extract(epoch from min(created_at))::float8 as oldest
      from link_outbox`;
  return row;
}

/** PostgreSQL's record of a stream of the links feed. Versions are those of links. */
export type FeedRow = {
  /** Creation time of the stream; null before the first check. */
  stream: string | null;
  /** The highest values observed in this stream. */
  last_sequence: number;
  messages: number;
  /** Drawn when the stream was last filled; null before the first filling. */
  epoch: number | null;
  /** Drawn at the last check. */
  version: number;
  /** Since when the stream is known to lack links; null while it is complete. */
  incomplete_since: number | null;
  /** Links published by the current or the last fill. */
  filled_links: number;
};

/**
 * Keeps the rows of these streams and deletes all others. This process no longer publishes to the
 * others, so they must be refilled before they are used again.
 */
export const keepFeeds = async (sql: Sql, names: readonly string[]): Promise<void> =>
  void (await sql`
    with gone as (delete from link_feed where name <> all (${[...names]}::text[]))
    insert into link_feed (name) select unnest(${[...names]}::text[]) on conflict do nothing`);

/** Selects the records of all streams, by name. */
export const selectFeeds = async (
  sql: Sql | Transaction,
): Promise<(FeedRow & { name: string })[]> =>
  await sql<(FeedRow & { name: string })[]>`
    select name, stream, last_sequence::float8 as last_sequence, messages::float8 as messages, epoch::float8 as epoch,
           version::float8 as version, incomplete_since::float8 as incomplete_since,
           filled_links::float8 as filled_links
      from link_feed order by name`;

/**
 * Selects the record of a stream. Throws when it has no row, because a process with a different
 * number of streams removed it.
 */
export async function selectFeed(
  sql: Sql | Transaction,
  name: string = UNDIVIDED.name,
): Promise<FeedRow> {
  const row = (await selectFeeds(sql)).find((feed) => feed.name === name);
  if (row === undefined) throw new Error(`Another process does not publish to the stream ${name}.`);
  return row;
}

/**
 * Counts the links that the stream must contain at least: all redirecting links, less changes that
 * may not be published yet. Takes milliseconds, because totals are kept per account, and few
 * domains are unverified or newly verified.
 */
export async function countPublished(sql: Sql): Promise<number> {
  const [row] = await sql<[{ links: number }]>`
    select ((select coalesce(sum(links), 0) from link_totals)
            - (select count(*) from links link join domains domain on domain.id = link.domain_id
                where domain.verified_at is null or domain.republishing)
            - (select count(*) from link_outbox))::float8 as links`;
  return row.links;
}

/** A stream's creation time and contents at one moment. */
export type StreamPosition = { created: string; last_sequence: number; messages: number };

/**
 * Records the position of a complete stream, and a new version. Does nothing when the row is older
 * than the version that was `read`: the database was restored meanwhile, and a new version would
 * hide that.
 */
export async function recordPosition(
  sql: Sql,
  position: StreamPosition,
  read: number,
  name: string = UNDIVIDED.name,
): Promise<void> {
  const { created, last_sequence, messages } = position;
  await sql`
    update link_feed
       set last_sequence = greatest(last_sequence, ${last_sequence}), messages = greatest(messages, ${messages}),
           stream = ${created}, version = next_link_version()
     where version >= ${read} and name = ${name}`;
}

/**
 * Records that every stream lacks links, and returns the version from which it does. `seen` is a
 * published version. No version up to it is drawn again, nor any that may have been drawn after it.
 */
export const recordIncomplete = async (sql: Sql, seen: number): Promise<number> =>
  await sql.begin(async (transaction) => {
    await skipVersions(transaction, seen);
    const rows = await transaction<{ since: number }[]>`
      ${updateIncomplete(transaction)} returning incomplete_since::float8 as since`;
    return Math.max(...rows.map(({ since }) => since));
  });

/**
 * As `recordIncomplete`, for a loss that was found while the stream had an epoch. Does nothing when
 * another process has recorded a loss since, or when the stream was filled meanwhile and has
 * another epoch.
 */
export const recordLoss = async (
  sql: Sql,
  seen: number,
  epoch: number | null,
  name: string,
): Promise<void> =>
  await sql.begin(async (transaction) => {
    const [row] = await transaction<{ epoch: number | null; complete: boolean }[]>`
      select epoch::float8 as epoch, incomplete_since is null as complete from link_feed
       where name = ${name} for update`;
    if (row?.epoch !== epoch || !row.complete) return;
    await skipVersions(transaction, seen);
    await transaction`${updateIncomplete(transaction)} where name = ${name}`;
  });

const skipVersions = async (transaction: Transaction, seen: number): Promise<void> =>
  void (await transaction`select skip_link_versions(${seen + UNSEEN_VERSIONS})`);

const updateIncomplete = (transaction: Transaction) => transaction`
    update link_feed
       set incomplete_since = next_link_version(), epoch = coalesce(epoch, 0), version = next_link_version(),
           filled_links = 0`;

/**
 * Versions of one minute, in microseconds: a heartbeat publishes the last version every few
 * seconds.
 */
const UNSEEN_VERSIONS = 60_000_000;

/** PostgreSQL's advisory lock for filling a stream, which one process holds at a time. */
const FILL_LOCK = 7_302_115;

/** Takes the fill lock until the transaction ends; false when another process holds it. */
export async function lockFilling(lock: Transaction): Promise<boolean> {
  const [row] = await lock<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(${FILL_LOCK}) as locked`;
  return row.locked;
}

/** Whether nothing was ever published: there are no links, and the stream was never filled. */
export async function isNew(lock: Transaction, name: string): Promise<boolean> {
  const [row] = await lock<[{ is_new: boolean }]>`
    select coalesce(epoch, 0) = 0 and not exists (select from links) and not exists (select from takedowns)
           and not exists (select from domains where version > 0) as is_new
      from link_feed where name = ${name}`;
  return row.is_new;
}

/** Whether there is no account, which means that no link was ever created in this database. */
export async function lacksAccounts(sql: Sql | Transaction): Promise<boolean> {
  const [row] = await sql<[{ is_empty: boolean }]>`
    select not exists (select from accounts) as is_empty`;
  return row.is_empty;
}

/** Draws the stream's epoch: the version under which it is filled. */
export async function drawEpoch(lock: Transaction): Promise<number> {
  const [row] = await lock<[{ epoch: number }]>`select next_link_version()::float8 as epoch`;
  return row.epoch;
}

/**
 * Selects the open transactions that may have drawn versions; they hold alias locks (see
 * `insertLinks`). Excludes other locks of the same kind, held by republishing and by repairs, which
 * take longer.
 */
export async function findWriters(lock: Transaction): Promise<string[]> {
  const rows = await lock<{ transaction: string }[]>`
    select distinct virtualtransaction as transaction
      from pg_locks
     where locktype = 'advisory' and objsubid = 1 and granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())
       and (classid::bigint << 32 | objid::bigint) <> ${REPAIR_LOCK}::bigint
       and (classid::bigint << 32 | objid::bigint) not in (select hashtextextended(id::text, 2) from domains)`;
  return rows.map(({ transaction }) => transaction);
}

/** Returns the transactions that have not ended. */
export async function findRunning(
  lock: Transaction,
  transactions: readonly string[],
): Promise<string[]> {
  const rows = await lock<{ transaction: string }[]>`
    select virtualtransaction as transaction from pg_locks
     where locktype = 'virtualxid' and virtualtransaction = any (${[...transactions]}::text[])`;
  return rows.map(({ transaction }) => transaction);
}

/** Records how many links have been published again. */
export async function recordFilled(sql: Sql, links: number, name: string): Promise<void> {
  await sql`update link_feed set filled_links = ${links} where name = ${name}`;
}

/**
 * Records that a stream has been filled, unless it was found incomplete again meanwhile; returns
 * whether it is complete.
 */
export async function finishFilling(
  sql: Sql,
  epoch: number,
  { created, last_sequence, messages }: StreamPosition,
  name: string,
): Promise<boolean> {
  const { count } = await sql`
    update link_feed
       set stream = ${created}, last_sequence = ${last_sequence}, messages = ${messages}, epoch = ${epoch},
           incomplete_since = null
     where incomplete_since < ${epoch} and name = ${name}`;
  return count > 0;
}

/** SQL statements on the chains of hashes of the ledger. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** An entry of a chain, by its position, and its hash. */
export type Place = { position: number; hash: Buffer };

export type ChainPlace = AccountScope & Place;

/** Deletes the beginning of feeds, older than this many days; about `max` events at most. */
export const deleteOldEvents = (
  sql: Transaction,
  days: number,
  max: number,
): Promise<(ChainPlace & { deleted: number })[]> =>
  sql<(ChainPlace & { deleted: number })[]>`
    select account_id as "accountId", mode, position::float8 as position, hash, deleted
      from delete_old_events(${days}, ${max})`;

/** Stores the signature of a floor. */
export async function signFloor(
  sql: Transaction,
  { accountId, mode, position }: ChainPlace,
  signature: string,
): Promise<void> {
  await sql`
    update event_floors set signature = ${signature}
     where account_id = ${accountId} and mode = ${mode} and position = ${position}`;
}

/** Feeds with events that have no position yet, at most `max`. */
export const findUnnumbered = (sql: Sql, max: number): Promise<AccountScope[]> =>
  sql<AccountScope[]>`
    with recursive feed as (
      (select account_id, mode from events where position is null order by account_id, mode limit 1)
      union all
      select next.* from feed cross join lateral (
        select account_id, mode from events
         where position is null and (account_id, mode) > (feed.account_id, feed.mode)
         order by account_id, mode limit 1) next
    )
    select account_id as "accountId", mode from feed limit ${max}`;

/** The feeds that have a chain: of one account, or all. */
export const listFeeds = (sql: Sql, account: Uuid | undefined): Promise<AccountScope[]> =>
  sql<AccountScope[]>`
    select account_id as "accountId", mode from event_heads
     where ${account ?? null}::uuid is null or account_id = ${account ?? null}
     order by 1, 2`;

/** Where retention has left the beginning of a chain; undefined if it has deleted nothing. */
export async function readFloor(
  sql: Transaction,
  { accountId, mode }: AccountScope,
): Promise<(Place & { signature: string | null }) | undefined> {
  const [row] = await sql<(Place & { signature: string | null })[]>`
    select position::float8 as position, hash, signature from event_floors
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Where a chain ends. */
export async function readHead(
  sql: Transaction,
  { accountId, mode }: AccountScope,
): Promise<Place | undefined> {
  const [row] = await sql<Place[]>`
    select position::float8 as position, hash from event_heads
     where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** An entry, and the text that its hash covers. */
export type Entry = { id: Uuid; position: number; hash: Buffer | null; text: string };

/** The entries of a chain after a position. */
export const listEntries = (
  sql: Transaction,
  { accountId, mode }: AccountScope,
  after: number,
  limit: number,
): Promise<Entry[]> =>
  sql<Entry[]>`
    select id, position::float8 as position, hash, event_text(event, position) as text
      from events event
     where account_id = ${accountId} and mode = ${mode} and position > ${after}
     order by position limit ${limit}`;

/** A run of entries that an erasure takes out: its last entry, and the position before it. */
export type Run = Place & { after: number };

/** Where an erasure has cut a chain. */
export type Cut = Run & { signature: string };

/** The cuts of a chain after a position, in their order. */
export const listCuts = (
  sql: Transaction,
  { accountId, mode }: AccountScope,
  after: number,
): Promise<Cut[]> =>
  sql<Cut[]>`
    select position::float8 as position, after::float8 as after, hash, signature from event_cuts
     where account_id = ${accountId} and mode = ${mode} and position > ${after}
     order by position`;

/** The runs that these entries are in their feed. */
export const findRuns = (
  sql: Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<Run[]> =>
  sql<Run[]>`
    with places as (
      select event.position, event.hash, chosen.id is not null as goes
        from events event left join unnest(${[...ids]}::uuid[]) chosen (id) on chosen.id = event.id
       where event.account_id = ${accountId} and event.mode = ${mode} and event.position is not null
       union all
      select position, hash, false from event_cuts where account_id = ${accountId} and mode = ${mode}
    ), entries as (
      select position, hash, goes, lead(goes) over (order by position) as next_goes,
             max(position) filter (where not goes) over (order by position) as after
        from places
    )
    select position::float8 as position, coalesce(after, 0)::float8 as after, hash
      from entries where goes and next_goes is not true
     order by position`;

/** Deletes entries, and writes where that cuts the chain. Only the owner of the tables may. */
export async function cutEntries(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
  cuts: readonly Cut[],
): Promise<void> {
  await sql`
    insert into event_cuts (account_id, mode, position, after, hash, signature)
    select ${accountId}, ${mode}, position, after, decode(hash, 'hex'), signature
      from unnest(${cuts.map(({ position }) => position)}::bigint[], ${cuts.map(({ after }) => after)}::bigint[],
                  ${cuts.map(({ hash }) => hash.toString("hex"))}::text[], ${cuts.map(({ signature }) => signature)}::text[])
           cut (position, after, hash, signature)`;
  await sql`delete from webhook_deliveries where event_id = any (${[...ids]}::uuid[])`;
  await sql`delete from events where id = any (${[...ids]}::uuid[])`;
}

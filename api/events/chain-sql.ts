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

/** SQL statements on the ledger of events. */
import type { JSONValue } from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope, Origin } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { EventRow } from "./model.ts";

/** An event as it is written. */
export type NewEventRow = {
  id: Uuid;
  account_id: Uuid;
  mode: Mode;
  type: string;
  actor: EventRow["actor"];
  origin: Origin | null;
  object_id: Uuid | null;
  link_id: Uuid | null;
  data: JSONValue;
};

/** The bytes that events take of the budget of their account. */
export type LedgerCost = { accountId: Uuid; plan: string; bytes: number };

/** Inserts events in their order; returns what they cost each account. */
export async function insertEvents(
  transaction: Transaction,
  rows: readonly NewEventRow[],
): Promise<LedgerCost[]> {
  if (rows.length === 0) return [];
  return await transaction<LedgerCost[]>`
    with inserted as (
    insert into events (id, account_id, mode, type, object_id, link_id, data, actor, origin)
    select id, account_id, mode, type, object_id, link_id, data, actor, origin
      from jsonb_array_elements(${transaction.json([...rows])}::jsonb) with ordinality as given (event, place)
     cross join lateral jsonb_to_record(event)
        as recorded (id uuid, account_id uuid, mode text, type text, object_id uuid, link_id uuid, data jsonb, actor jsonb,
           origin jsonb)
     order by place
    returning account_id, mode, type, bytes
    )
    select account.id as "accountId", account.plan,
           sum(ledger_cost(account_id, mode, type, bytes))::float8 as bytes
      from inserted join accounts account on account.id = account_id
     group by account.id, account.plan`;
}

/**
 * Gives positions and hashes to events that have been committed since the last call, at most 5,000;
 * returns whether more may be waiting. See `0006_events.sql`.
 */
export async function numberEvents(sql: Sql, { accountId, mode }: AccountScope): Promise<boolean> {
  const [row] = await sql<[{ more: boolean }]>`select number_events(${accountId}, ${mode}) as more`;
  return row.more;
}

/** Members that are undefined select nothing. */
export type EventFilter = {
  types: readonly string[] | undefined;
  linkId: Uuid | undefined;
  /** The public id of who caused it. */
  actorId: string | undefined;
};

export type ReadRange = {
  /** The position after which is read; in descending order, before which. */
  from: number;
  order: "asc" | "desc";
  /** Most events that are returned, and that are examined, and most bytes of data. */
  limit: number;
  examinedMax: number;
  bytesMax: number;
};

/**
 * Events in the order of the range, up to where they were examined: `end` is null if there was
 * nothing to examine, and `isAll` says whether nothing is left behind it.
 */
export type EventsPart = { rows: EventRow[]; end: number | null; isAll: boolean };

/**
 * Examines the owner's events in a range, and returns those that match, as many as its bounds
 * permit; the first one however large it is.
 */
export async function readEvents(
  sql: Sql,
  owner: AccountScope,
  range: ReadRange,
  filter: EventFilter,
): Promise<EventsPart> {
  const rows = await selectEvents(sql, owner, range, filter);
  const [first] = rows;
  // Without events to return there is one row, of the ends alone.
  const found = (first?.matching ?? 0) > 0 ? rows : [];
  const isCut = found.length < (first?.matching ?? 0);
  return {
    rows: found,
    end: isCut ? (found.at(-1)?.position ?? null) : (first?.end ?? null),
    isAll: !isCut && (first?.examined ?? 0) < range.examinedMax,
  };
}

type SelectedRow = { end: number | null; examined: number; matching: number } & EventRow;

/** The statement of {@link readEvents}. */
function selectEvents(
  sql: Sql,
  { accountId, mode }: AccountScope,
  { from, order, limit, examinedMax, bytesMax }: ReadRange,
  { types, linkId, actorId }: EventFilter,
) {
  const isAscending = order === "asc";
  const inOrder = isAscending ? sql`asc` : sql`desc`;
  return sql<SelectedRow[]>`
    with examined as materialized (
      select id, position, bytes, type, link_id, actor from events
       where account_id = ${accountId} and mode = ${mode}
         and ${isAscending ? sql`position > ${from}` : sql`position < ${from}`}
       order by position ${inOrder} limit ${examinedMax}
    ), matching as materialized (
      select id, row_number() over (order by position ${inOrder}) as place,
             sum(bytes) over (order by position ${inOrder}) as total
        from examined
       where true ${types === undefined ? sql`` : sql`and type = any (${[...types]}::text[])`}
             ${linkId === undefined ? sql`` : sql`and link_id = ${linkId}`}
             ${actorId === undefined ? sql`` : sql`and actor ->> 'id' = ${actorId}`}
    )
    select ends.*, event.id, event.mode, event.type, event.data, event.actor, event.origin, event.occurred_at,
           event.position::float8 as position
      from (select (select ${isAscending ? sql`max(position)` : sql`min(position)`} from examined)::float8 as end,
                   (select count(*) from examined)::integer as examined,
                   (select count(*) from matching)::integer as matching) ends
      left join (select id from matching where total <= ${bytesMax} or place = 1 order by place limit ${limit}) page
        on true
      left join events event on event.id = page.id
     order by event.position ${inOrder}`;
}

/** The position of the owner's last event; 0 without any. */
export async function findLastPosition(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<number> {
  const [row] = await sql<[{ position: number }]>`
    select greatest((select max(position) from events
                      where account_id = ${accountId} and mode = ${mode} and position is not null),
                    (select position from event_floors where account_id = ${accountId} and mode = ${mode}),
                    0)::float8 as position`;
  return row.position;
}

/** The position of one of the owner's events; undefined if there is no such event. */
export async function findPosition(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<number | undefined> {
  const [row] = await sql<{ position: number }[]>`
    select position::float8 as position from events
     where id = ${id} and account_id = ${accountId} and mode = ${mode} and position is not null`;
  return row?.position;
}

/** The highest position of the owner that retention has deleted; 0 if it has deleted none. */
export async function findFloor(sql: Sql, { accountId, mode }: AccountScope): Promise<number> {
  const [row] = await sql<{ position: number }[]>`
    select position::float8 as position from event_floors
     where account_id = ${accountId} and mode = ${mode}`;
  return row?.position ?? 0;
}

/** Somebody who waits for events of an account and mode after a position. */
export type Waiting = AccountScope & { position: number };

/** Returns the indexes of those for whom there are events, with or without a position yet. */
export async function findNews(sql: Sql, waiting: readonly Waiting[]): Promise<number[]> {
  const rows = await sql<{ index: number }[]>`
    select (place - 1)::integer as index
      from unnest(${waiting.map(({ accountId }) => accountId)}::uuid[], ${waiting.map(({ mode }) => mode)}::text[],
                  ${waiting.map(({ position }) => position)}::bigint[])
           with ordinality as waiting (account_id, mode, after, place)
     where exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode and position is null)
        or exists (select from events event
                    where event.account_id = waiting.account_id and event.mode = waiting.mode
                      and position > waiting.after)`;
  return rows.map(({ index }) => index);
}

/** Notes that the owner reads events of clicks, at most once a minute. */
export async function noteReader(sql: Sql, { accountId, mode }: AccountScope): Promise<void> {
  await sql`
    insert into event_readers as reader (account_id, mode, read_at) values (${accountId}, ${mode}, now())
    on conflict (account_id, mode) do update set read_at = excluded.read_at
     where reader.read_at < excluded.read_at - interval '1 minute'`;
}

/** Forgets accounts that have read no events of clicks for this many days. */
export async function forgetReaders(sql: Sql, days: number): Promise<void> {
  await sql`delete from event_readers where read_at < now() - make_interval(days => ${days})`;
}

/** Who a user is, and the accounts that they are a member of; undefined if there is none. */
export async function findUserAccounts(
  sql: Transaction,
  userId: Uuid,
): Promise<{ name: string; email: string; accounts: Uuid[] } | undefined> {
  const [row] = await sql<{ name: string; email: string; accounts: Uuid[] }[]>`
    select name, email,
           array(select account_id from members where user_id = users.id order by 1) as accounts
      from users where id = ${userId}`;
  return row;
}

/** SQL statements that read the ledger of events. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { EventRow } from "./model.ts";

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
  /** Maximum events that are returned and that are examined, and bytes of data. */
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

/** SQL statements that find the links of a list. */
import type { Uuid } from "../../../shared/ids.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { Sql } from "../../postgres.ts";
import {
  examine,
  isAfter,
  joinAndSort,
  ownedInOrder,
  searchedText,
  toNumber,
  toPattern,
  whereMatches,
} from "./conditions-sql.ts";
import type { LinkFilter, LinkOrder, LinkPosition } from "./filter.ts";

export type PageWindow = { offset: number; limit: number };

/** The ids of a page, in order, and the number of links on all pages, which may be an estimate. */
export type LinkIds = { ids: Uuid[]; total: number; isEstimate?: boolean };

/**
 * Finds the matches by an index, counts and sorts them. Stops after `matchesMax` + 1; with that
 * `total` the page is invalid.
 */
export async function findAndSortMatches(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: PageWindow,
  matchesMax: number,
): Promise<LinkIds> {
  const [found] = await sql<[LinkIds]>`
    with matched as materialized (
      select link.id, link.created_at from links link where ${whereMatches(sql, filter)} limit ${matchesMax + 1}
    )
    select (select count(*)::integer from matched) as total,
           array(select link.id from matched link ${joinAndSort(sql, order)} limit ${limit} offset ${offset}) as ids`;
  return found;
}

/** Scans the owner's links in the requested order until the page is full. */
export async function findMatchesInOrder(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: PageWindow,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select link.id from links link ${joinAndSort(sql, order, whereMatches(sql, filter))}
     limit ${limit} offset ${offset}`;
  return rows.map(({ id }) => id);
}

/** Counts the matches, up to `max` + 1. */
export async function countMatches(sql: Sql, filter: LinkFilter, max: number): Promise<number> {
  const [{ total }] = await sql<[{ total: number }]>`
    select count(*)::integer as total
      from (select from links link where ${whereMatches(sql, filter)} limit ${max + 1}) matched`;
  return total;
}

/** PostgreSQL's estimate of the number of matches, from its column statistics. */
export async function estimateMatches(sql: Sql, filter: LinkFilter): Promise<number> {
  const [row] = await sql<[{ "QUERY PLAN": [{ Plan: { "Plan Rows": number } }] }]>`
    explain (format json) select from links link where ${whereMatches(sql, filter)}`;
  return row["QUERY PLAN"][0].Plan["Plan Rows"];
}

/**
 * A page of the matches among the first links of a list, their number, and where the scan ended:
 * null for the end of the list.
 */
type FirstMatches = { ids: Uuid[]; found: number; end: LinkPosition | null };

/** Examines the first `rowsMax` of the owner's links in the requested order. */
export async function findAmongFirst(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: PageWindow,
  rowsMax: number,
): Promise<FirstMatches> {
  const direction = order.order === "asc" ? sql`asc` : sql`desc`;
  const [{ ids, found, id, key }] = await sql<
    [{ ids: Uuid[]; found: number; id: Uuid | null; key: number }]
  >`
    with matched as materialized (
      select link.id, link.key from (${examine(sql, filter, order, null, rowsMax)}) link
       where ${whereMatches(sql, filter)}
    ), last_examined as (
      select * from (${ownedInOrder(sql, filter, order, null)}) owned offset ${rowsMax - 1} limit 1
    )
    select (select count(*)::integer from matched) as found,
           array(select id from matched order by key ${direction}, id ${direction} limit ${limit} offset ${offset}) as ids,
           last_examined.id, ${toNumber(sql, order)} as key
      from (select) always left join last_examined on true`;
  return { ids, found, end: id === null ? null : { id, key } };
}

/** Counts the owner's links, all and archived ones, from the totals that triggers maintain. */
export async function countOwnedLinks(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<{ links: number; archived: number }> {
  const [row] = await sql<{ links: number; archived: number }[]>`
    select links::float8 as links, archived::float8 as archived
      from link_totals where account_id = ${accountId} and mode = ${mode}`;
  return row ?? { links: 0, archived: 0 };
}

/** Lists ids of the owner's links by the index of the order: `links_by_account`, `link_counters_by_clicks` or `…_by_last_click`. */
export async function listOwnedIds(
  sql: Sql,
  owner: AccountScope,
  order: LinkOrder,
  { limit, offset }: PageWindow,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select id from (${ownedInOrder(sql, owner, order, null)}) owned limit ${limit} offset ${offset}`;
  return rows.map(({ id }) => id);
}

/** As {@link listOwnedIds}, from a position on; also returns the positions. */
export async function listOwnedAfter(
  sql: Sql,
  owner: AccountScope,
  order: LinkOrder,
  after: LinkPosition | null,
  limit: number,
): Promise<LinkPosition[]> {
  return await sql<LinkPosition[]>`
    select id, ${toNumber(sql, order)} as key
      from (${ownedInOrder(sql, owner, order, after)}) owned limit ${limit}`;
}

/** The matches of a scan, and where it ended: null when it reached the end of the list. */
type Scan = { matches: LinkPosition[]; end: LinkPosition | null };

/**
 * Examines at most `rowsMax` of the owner's links in the requested order, from a position on, and
 * returns the first `limit` that match. Uses one statement, so that matches and end come from the
 * same moment.
 */
export async function scanAfter(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  after: LinkPosition | null,
  limit: number,
  rowsMax: number,
): Promise<Scan> {
  const direction = order.order === "asc" ? sql`asc` : sql`desc`;
  const rows = await sql<(LinkPosition & { is_end: boolean })[]>`
    with matches as materialized (
      select link.id, link.key from (${examine(sql, filter, order, after, rowsMax)}) link
       where ${whereMatches(sql, filter)}
       order by link.key ${direction}, link.id ${direction} limit ${limit}
    ), last_examined as materialized (
      select id, key from (${ownedInOrder(sql, filter, order, after)}) owned
       where (select count(*) from matches) < ${limit}
       offset ${rowsMax - 1} limit 1
    ), found as (
      select id, key, false as is_end from matches
      union all
      select id, key, true from last_examined
    )
    select id, ${toNumber(sql, order)} as key, is_end from found
     order by is_end, found.key ${direction}, id ${direction}`;
  const matches = rows.filter(({ is_end }) => !is_end);
  return { matches, end: rows.find(({ is_end }) => is_end) ?? null };
}

/** Finds the matches by an index and sorts those after a position. Undefined when there are more than `matchesMax`. */
export async function findMatchesAfter(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { after, limit }: { after: LinkPosition | null; limit: number },
  matchesMax: number,
): Promise<LinkPosition[] | undefined> {
  const direction = order.order === "asc" ? sql`asc` : sql`desc`;
  const byCounter = order.sort !== "created_at";
  const key = sql`${sql(`${byCounter ? "counters" : "matched"}.${order.sort}`)}`;
  const rows = await sql<{ id: Uuid | null; key: number; total: number }[]>`
    with matched as materialized (
      select link.id, link.created_at from links link where ${whereMatches(sql, filter)} limit ${matchesMax + 1}
    ), part as (
      select matched.id, ${key} as key
        from matched ${byCounter ? sql`join link_counters counters on counters.link_id = matched.id` : sql``}
       where true ${isAfter(sql, order, after, key, sql`matched.id`)}
       order by ${key} ${direction}, matched.id ${direction} limit ${limit}
    )
    select part.id, ${toNumber(sql, order)} as key, counted.total
      from (select count(*)::integer as total from matched) counted left join part on true
     order by part.key ${direction}, part.id ${direction}`;
  if ((rows[0]?.total ?? 0) > matchesMax) return undefined;
  return rows.flatMap(({ id, key }) => (id === null ? [] : [{ id, key }]));
}

/** Counts the owner's newest links that contain a part of a search, among the first `examined`. */
export async function countNewestWith(
  sql: Sql,
  { accountId, mode }: AccountScope,
  parts: readonly string[],
  examined: number,
): Promise<number[]> {
  const rows = await sql<{ found: number }[]>`
    with newest as materialized (
      select ${searchedText(sql)} as text from links link
       where link.account_id = ${accountId} and link.mode = ${mode}
       order by link.created_at desc, link.id desc limit ${examined}
    )
    select (select count(*)::integer from newest where text ilike pattern) as found
      from unnest(${parts.map(toPattern)}::text[]) with ordinality as part (pattern, number)
     order by number`;
  return rows.map(({ found }) => found);
}

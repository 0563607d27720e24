/**
 * The statements that find an account's links. A page is found in indexes alone, and only its own
 * links are read. Ties are put in order by id, so that no page repeats or skips any.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import { type Owner, selectLinks } from "./sql.ts";

export type LinkFilter = Owner & {
  /** Text that title, alias or original URL must hold, whatever its case; null for all. */
  search: string | null;
  /** A tag that links must have; null for all. */
  tag: string | null;
};

export type LinkOrder = { sort: "created_at" | "clicks"; order: "asc" | "desc" };

type Page = { offset: number; limit: number };

type Found = { ids: Uuid[]; total: number };

/** Up to so many matches are counted and put in order from one look into the index. */
const FEW_MAX = 10_000;

/** A page of the links that match, and how many there are. */
export async function findLinks(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  page: Page,
): Promise<{ rows: LinkRow[]; total: number }> {
  const { ids, total } = await findPage(sql, filter, order, page);
  if (ids.length === 0) return { rows: [], total };
  const rows = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = any (${ids}::uuid[])
     order by array_position(${ids}::uuid[], link.id)`;
  return { rows, total };
}

async function findPage(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  page: Page,
): Promise<Found> {
  if (filter.search === null && filter.tag === null) {
    return await findAmongAll(sql, filter, order, page);
  }
  const few = await findAmongFew(sql, filter, order, page);
  return few ?? (await findAmongMany(sql, filter, order, page));
}

/** By the indexes `links_search` and `links_by_tag`; undefined when there are more than a few. */
async function findAmongFew(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: Page,
): Promise<Found | undefined> {
  const [found] = await sql<[Found]>`
    with matched as materialized (
      select link.id, link.created_at from links link where ${matching(sql, filter)} limit ${FEW_MAX + 1}
    )
    select (select count(*)::integer from matched) as total,
           array(select link.id from matched link ${ordered(sql, order)} limit ${limit} offset ${offset}) as ids`;
  return found.total > FEW_MAX ? undefined : found;
}

/** So many match that the first of them are soon met in the order asked for; but all are counted. */
async function findAmongMany(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: Page,
): Promise<Found> {
  const [rows, [{ total }]] = await Promise.all([
    sql<{ id: Uuid }[]>`
      select link.id from links link ${ordered(sql, order, matching(sql, filter))}
       limit ${limit} offset ${offset}`,
    sql<[{ total: number }]>`
      select count(*)::integer as total from links link where ${matching(sql, filter)}`,
  ]);
  return { ids: rows.map(({ id }) => id), total };
}

/** By `links_by_account` or `link_counters_by_clicks`, from the end that is nearer to the page. */
async function findAmongAll(
  sql: Sql,
  { accountId, mode }: LinkFilter,
  { sort, order }: LinkOrder,
  { limit, offset }: Page,
): Promise<Found> {
  const [kept] = await sql<{ links: number }[]>`
    select links::float8 as links from link_totals where account_id = ${accountId} and mode = ${mode}`;
  const total = kept?.links ?? 0;
  const size = Math.min(limit, total - offset);
  if (size <= 0) return { ids: [], total };
  const fromEnd = offset > total / 2;
  const descending = (order === "desc") !== fromEnd;
  const direction = descending ? sql`desc` : sql`asc`;
  const source =
    sort === "clicks"
      ? sql`select link_id as id from link_counters`
      : sql`select id as id from links`;
  const key =
    sort === "clicks" ? sql`clicks ${direction}, link_id` : sql`created_at ${direction}, id`;
  const rows = await sql<{ id: Uuid }[]>`
    ${source} where account_id = ${accountId} and mode = ${mode}
     order by ${key} ${direction}
     limit ${size} offset ${fromEnd ? total - offset - size : offset}`;
  const ids = rows.map(({ id }) => id);
  return { ids: fromEnd ? ids.toReversed() : ids, total };
}

/** What joins the figure to sort by to links `link`, narrows them by `condition`, and sorts them. */
function ordered(sql: Sql, { sort, order }: LinkOrder, condition = sql`true`) {
  const direction = order === "asc" ? sql`asc` : sql`desc`;
  return sort === "clicks"
    ? sql`join link_counters counters on counters.link_id = link.id
          where ${condition} order by counters.clicks ${direction}, link.id ${direction}`
    : sql`where ${condition} order by link.created_at ${direction}, link.id ${direction}`;
}

function matching(sql: Sql, { accountId, mode, search, tag }: LinkFilter) {
  const tagged = tag === null ? sql`` : sql`and link.tags @> array[${tag}]`;
  return sql`link.account_id = ${accountId} and link.mode = ${mode} ${tagged} ${searched(sql, search)}`;
}

/** Trigrams are of letters and digits. */
const TRIGRAM = /[\p{L}\p{N}]{3}/u;

/** The expression of the index `links_search`. No field holds a line break, and no search does. */
function searched(sql: Sql, search: string | null) {
  if (search === null) return sql``;
  const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const text = sql`coalesce(link.title, '') || E'\\n' || link.alias || E'\\n' || link.original_url`;
  // Without a trigram the index would be read from end to end.
  return TRIGRAM.test(search)
    ? sql`and ((${text}) collate "default") ilike ${pattern}`
    : sql`and lower((${text}) collate "default") like lower(${pattern})`;
}

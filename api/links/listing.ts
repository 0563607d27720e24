/** The statements that find an account's links. */
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

/**
 * A page of links; ties are put in order by id, so that no page repeats or skips any. The page is
 * found in an index alone (`links_by_account`, `link_counters_by_clicks`, or `links_search` and
 * `links_by_tag`), and only its links are read.
 */
export async function listLinks(
  sql: Sql,
  filter: LinkFilter,
  { sort, order }: LinkOrder,
  limit: number,
  offset: number,
): Promise<LinkRow[]> {
  const direction = order === "asc" ? sql`asc` : sql`desc`;
  const column = sort === "clicks" ? sql`clicks` : sql`created_at`;
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
      join (${pageOf(sql, filter, sort)}
             order by ${column} ${direction}, id ${direction}
             limit ${limit} offset ${offset}) page on page.id = link.id
     order by page.${column} ${direction}, link.id ${direction}`;
}

function pageOf(sql: Sql, filter: LinkFilter, sort: LinkOrder["sort"]) {
  const filtered = filter.search !== null || filter.tag !== null;
  if (sort === "clicks" && !filtered) {
    return sql`
      select link_id as id, clicks from link_counters
       where account_id = ${filter.accountId} and mode = ${filter.mode}`;
  }
  if (sort === "clicks") {
    return sql`
      select link.id, counters.clicks from links link
        join link_counters counters on counters.link_id = link.id
       where ${matching(sql, filter)}`;
  }
  return sql`select link.id, link.created_at from links link where ${matching(sql, filter)}`;
}

/** How many links match: a count that is kept where nothing is searched. */
export async function countLinks(sql: Sql, filter: LinkFilter): Promise<number> {
  if (filter.search === null && filter.tag === null) {
    const [kept] = await sql<{ links: number }[]>`
      select links::float8 as links from link_totals
       where account_id = ${filter.accountId} and mode = ${filter.mode}`;
    return kept?.links ?? 0;
  }
  const [row] = await sql<[{ total: number }]>`
    select count(*)::integer as total from links link where ${matching(sql, filter)}`;
  return row.total;
}

function matching(sql: Sql, { accountId, mode, search, tag }: LinkFilter) {
  const tagged = tag === null ? sql`` : sql`and link.tags @> array[${tag}]`;
  return sql`link.account_id = ${accountId} and link.mode = ${mode} ${tagged} ${searched(sql, search)}`;
}

/** The expression of the index `links_search`. No field holds a line break, and no search does. */
function searched(sql: Sql, search: string | null) {
  if (search === null) return sql``;
  const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
  return sql`and ((coalesce(link.title, '') || E'\\n' || link.alias || E'\\n' || link.original_url) collate "default") ilike ${pattern}`;
}

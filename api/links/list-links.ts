/**
 * Listing and search. Every strategy finds a page of ids in indexes first and then reads only those links.
 * Ties sort by id, so that pages neither repeat nor skip a link.
 */
import type { Sql } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import {
  countMatches,
  countOwnedLinks,
  findAndSortMatches,
  findLinksInOrder,
  findMatchesInOrder,
  type LinkFilter,
  type LinkIds,
  type LinkOrder,
  listOwnedIds,
  type PageWindow,
} from "./sql.ts";

/** Up to this many matches are counted and sorted by one index scan. */
const SORTED_MATCHES_MAX = 10_000;

/** Returns a page of the links that match the filter, and the number of all matches. */
export async function listLinks(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  page: PageWindow,
): Promise<{ rows: LinkRow[]; total: number }> {
  const { ids, total } = await findPage(sql, filter, order, page);
  return { rows: ids.length === 0 ? [] : await findLinksInOrder(sql, ids), total };
}

async function findPage(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  page: PageWindow,
): Promise<LinkIds> {
  if (filter.search === null && filter.tag === null) {
    return await findPageOfAll(sql, filter, order, page);
  }
  const sorted = await findAndSortMatches(sql, filter, order, page, SORTED_MATCHES_MAX);
  if (sorted.total <= SORTED_MATCHES_MAX) return sorted;
  // With this many matches, a scan in the requested order soon meets enough of them; all are counted.
  const [ids, total] = await Promise.all([
    findMatchesInOrder(sql, filter, order, page),
    countMatches(sql, filter),
  ]);
  return { ids, total };
}

/** Without a filter: scans an index from the end that is nearer to the page. */
async function findPageOfAll(
  sql: Sql,
  owner: LinkFilter,
  { sort, order }: LinkOrder,
  { limit, offset }: PageWindow,
): Promise<LinkIds> {
  const total = await countOwnedLinks(sql, owner);
  const size = Math.min(limit, total - offset);
  if (size <= 0) return { ids: [], total };
  if (offset <= total / 2) {
    return { ids: await listOwnedIds(sql, owner, { sort, order }, { limit: size, offset }), total };
  }
  const reverse = { sort, order: order === "asc" ? "desc" : "asc" } as const;
  const fromEnd = { limit: size, offset: total - offset - size };
  const ids = await listOwnedIds(sql, owner, reverse, fromEnd);
  return { ids: ids.toReversed(), total };
}

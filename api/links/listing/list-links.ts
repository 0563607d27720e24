/**
 * Listing and search. Every strategy first finds ids in indexes, then reads only those links. Ties
 * sort by id, so that pages neither repeat nor skip a link.
 */
import type { Uuid } from "../../../shared/ids.ts";
import type { ListRequest } from "../../http/pagination.ts";
import type { Sql } from "../../postgres.ts";
import {
  hasTrigram,
  isSelective,
  type LinkFilter,
  type LinkOrder,
  type LinkPosition,
  listSearchParts,
  selectsAll,
  selectsUnarchived,
} from "./filter.ts";
import {
  countNewestWith,
  countOwnedLinks,
  type LinkIds,
  LinkList,
  type PageWindow,
} from "./sql.ts";

/** Up to this many matches are counted and sorted by one index scan. */
const SORTED_MATCHES_MAX = 10_000;

/** Maximum links that a request by page counts and examines. */
const BY_PAGE = {
  /** Up to this many matches are counted one by one. */
  countedMax: 100_000,
  /** Links examined, in an account that has more, for a filter that no index supports. */
  examinedMax: { created_at: 100_000, clicks: 30_000, last_click_at: 30_000 },
};

/**
 * Newest links that are sampled before a search, in 1 to 2 ms, and the maximum of them that contain
 * a rare part.
 */
const SAMPLE = 500;
const SAMPLE_RARE_MAX = 5;

/** Maximum links that one request by cursor examines, in the order of the list. */
const EXAMINED_MAX = { created_at: 10_000, clicks: 3_000, last_click_at: 3_000 };

/** With fewer matches than this in a scan, an index finds all of them faster. */
const DENSE_MATCHES = 4;

/**
 * A page; `next` is where a partly examined list continues, `read` how many links were matched,
 * counted or passed over.
 */
type FoundPage = LinkIds & { next?: LinkPosition; read: number };

/** A part of a list; `total` and `read`, the links that it took to find it, only by page. */
type FoundLinks = {
  ids: Uuid[];
  total?: number;
  read?: number;
  isEstimate?: boolean;
  next: LinkPosition | null;
};

/** Finds a part of the links that match the filter; tests pass other bounds. */
export async function findLinks(
  sql: Sql,
  requested: LinkFilter,
  order: LinkOrder,
  request: ListRequest,
  byPage: typeof BY_PAGE = BY_PAGE,
): Promise<FoundLinks> {
  const filter = await nameRarePart(sql, await dropVoidConditions(sql, requested));
  const list = new LinkList(sql, filter, order);
  if ("after" in request) return await findAfter(list, request.after, request.limit);
  const { page, limit } = request;
  const found = await findPage(list, { limit, offset: (page - 1) * limit }, byPage);
  return { next: null, ...found };
}

/** Few accounts have archived links. Without any, a list that excludes them contains all links. */
async function dropVoidConditions(sql: Sql, filter: LinkFilter): Promise<LinkFilter> {
  if (!selectsUnarchived(filter)) return filter;
  const { archived } = await countOwnedLinks(sql, filter);
  return archived === 0 ? { ...filter, archived: null } : filter;
}

/**
 * Names the part of a search that the fewest of the newest links contain, if these are few. If a
 * search also has common words, an index of a million links takes ten times as long to find the
 * links with a rare word.
 */
async function nameRarePart(sql: Sql, filter: LinkFilter): Promise<LinkFilter> {
  const { search, respelled } = filter;
  const parts = search === null || respelled !== null ? [] : listSearchParts(search);
  if (parts.length === 0) return filter;
  const counts = await countNewestWith(sql, filter, parts, SAMPLE);
  const least = Math.min(...counts);
  return least > SAMPLE_RARE_MAX
    ? filter
    : { ...filter, rarePart: parts[counts.indexOf(least)] ?? null };
}

/**
 * Finds the links after a position. A part may have fewer links than `limit` and still continue: a
 * scan for rare matches ends after {@link EXAMINED_MAX} links, so that every request is fast.
 */
async function findAfter(
  list: LinkList,
  after: LinkPosition | null,
  limit: number,
): Promise<FoundLinks> {
  const { filter, order } = list;
  if (selectsAll(filter)) return cut(await list.listOwnedAfter(after, limit + 1), limit, null);
  const byIndex = async () => {
    const matches = await list.sortMatchesAfter(after, limit + 1, SORTED_MATCHES_MAX);
    return matches === undefined ? undefined : cut(matches, limit, null);
  };
  const few = isSelective(filter) ? await byIndex() : undefined;
  if (few !== undefined) return few;
  const scan = await list.scanAfter(after, limit + 1, EXAMINED_MAX[order.sort]);
  const found = cut(scan.matches, limit, scan.end);
  const isRare = scan.end !== null && scan.matches.length < DENSE_MATCHES;
  return isRare && hasIndex(filter) ? ((await byIndex()) ?? found) : found;
}

/**
 * Whether an index supports the search, tags or campaigns; it does not support a search of one or
 * two characters, nor links without a campaign.
 */
const hasIndex = ({ search, tags, utm }: LinkFilter): boolean =>
  tags.length > 0 ||
  (search !== null && hasTrigram(search)) ||
  utm.some(({ name, anyOf }) => name === "utm_campaign" && anyOf.length > 0 && !anyOf.includes(""));

/** Cuts a part to `limit`; without more matches it continues at `end`. */
function cut(positions: readonly LinkPosition[], limit: number, end: LinkPosition | null) {
  const part = positions.slice(0, limit);
  const last = part.at(-1) ?? null;
  const next = positions.length > limit ? last : end;
  return {
    ids: part.map(({ id }) => id),
    next: next === null ? null : { id: next.id, key: next.key },
  };
}

async function findPage(
  list: LinkList,
  page: PageWindow,
  { countedMax, examinedMax }: typeof BY_PAGE,
): Promise<FoundPage> {
  const { filter, order } = list;
  if (selectsAll(filter)) return await findPageOfAll(list, page);
  if (selectsUnarchived(filter)) {
    const { links, archived } = await list.countOwned();
    const ids = await list.scanMatches(page);
    return { ids, total: links - archived, read: Math.min(page.offset, links) };
  }
  let scanned = 0;
  if (!isSelective(filter) && !hasIndex(filter)) {
    const { links } = await list.countOwned();
    const examined = examinedMax[order.sort];
    if (links > examined) return await findPageOfFirst(list, page, links, examined);
    scanned = links;
  }
  const sorted = await list.sortMatches(page, SORTED_MATCHES_MAX);
  if (sorted.total <= SORTED_MATCHES_MAX) return { ...sorted, read: scanned + sorted.total };
  // With this many matches, a scan in the requested order finds enough of them quickly.
  const [ids, total] = await Promise.all([list.scanMatches(page), list.countMatches(countedMax)]);
  const read = scanned + sorted.total + total + Math.min(page.offset, total);
  if (total <= countedMax) return { ids, total, read };
  const { links } = await list.countOwned();
  const estimate = Math.min(links, Math.max(total, await list.estimateMatches()));
  return { ids, total: estimate, isEstimate: true, read };
}

/** For a list that no index supports: the matches among the first `examined` of its `links`. */
async function findPageOfFirst(
  list: LinkList,
  page: PageWindow,
  links: number,
  examined: number,
): Promise<FoundPage> {
  const { ids, found, end } = await list.findAmongFirst(page, examined);
  if (end === null) return { ids, total: found, read: links };
  const total = Math.round((found / examined) * links);
  const isLast = page.offset + page.limit >= found;
  return { ids, total, isEstimate: true, read: examined, ...(isLast ? { next: end } : {}) };
}

/** Without a filter: scans an index from the end that is nearer to the page. */
async function findPageOfAll(list: LinkList, { limit, offset }: PageWindow): Promise<FoundPage> {
  const { links: total } = await list.countOwned();
  const size = Math.min(limit, total - offset);
  if (size <= 0) return { ids: [], total, read: 0 };
  if (offset <= total / 2) {
    const ids = await list.listOwned({ limit: size, offset });
    return { ids, total, read: offset };
  }
  const fromEnd = { limit: size, offset: total - offset - size };
  const ids = await list.reversed().listOwned(fromEnd);
  return { ids: ids.toReversed(), total, read: fromEnd.offset };
}

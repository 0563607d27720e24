/**
 * Lists tags with counts. Triggers maintain the number of links of each tag, so it costs nothing to
 * read. Clicks are added up when they are read, from the counters of the links, and only of so many
 * links as a request may read.
 */
import { ApiError } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import type { Sql } from "../postgres.ts";
import type { CountedTag, TagRow, TagSort } from "./model.ts";
import { listTags, sumClicks, type TagPosition } from "./sql.ts";

/**
 * Maximum tags that a request examines: a page may be shorter than its limit, and its cursor
 * continues after them.
 */
const EXAMINED_MAX = 10_000;

/** Maximum links whose clicks one request adds up, a link counted once for each of its tags. */
const SUMMED_LINKS_MAX = 100_000;

/** Where a part of a list ended: the sort key (0 by name) and the name of the last tag. */
export type TagsCursor = readonly [key: number, name: string];

export type TagsRequest = {
  sort: TagSort;
  search: string;
  limit: number;
  after: TagsCursor | null;
};

export type TagsPart = { rows: CountedTag[]; next: TagsCursor | null };

/** An account, which pays for adding up clicks. */
type TagsReader = AccountScope & Payer;

/** The cost of adding up the clicks of one link, in listed links. */
export const SUMMED_LINK = 2;

/**
 * Returns the requested part of the owner's tags. Throws `invalid_request` when there are too many
 * to sort by clicks, and `rate_limited` when the owner's budget is used up.
 */
export async function listCountedTags(
  sql: Sql,
  owner: TagsReader,
  { sort, ...request }: TagsRequest,
): Promise<TagsPart> {
  budgets.require(owner, "listed_links");
  if (sort === "clicks") return await listByClicks(sql, owner, request);
  const { search, limit, after } = request;
  const position = after === null ? null : { links: after[0], name: after[1] };
  const { rows, end } = await listTags(
    sql,
    owner,
    { sort, search, after: position },
    limit + 1,
    EXAMINED_MAX,
  );
  const kept = rows.slice(0, limit);
  const last = rows.length > limit ? kept.at(-1) : end;
  const keyOf = ({ links }: TagPosition): number => (sort === "links" ? links : 0);
  return {
    rows: await withClicks(sql, owner, kept),
    next: last === undefined || last === null ? null : [keyOf(last), last.name],
  };
}

async function listByClicks(
  sql: Sql,
  owner: TagsReader,
  { search, limit, after }: Omit<TagsRequest, "sort">,
): Promise<TagsPart> {
  const order = { sort: "name", search, after: null } as const;
  // One more, to detect that there are too many.
  const { rows, end } = await listTags(sql, owner, order, EXAMINED_MAX + 1, EXAMINED_MAX + 1);
  const links = rows.reduce((sum, row) => sum + row.links, 0);
  if (end !== null || rows.length > EXAMINED_MAX || links > SUMMED_LINKS_MAX)
    throw new ApiError(
      "invalid_request",
      `Up to ${EXAMINED_MAX} tags of up to ${SUMMED_LINKS_MAX} links can be sorted by clicks.`,
      { param: "sort" },
    );
  const counted = await withClicks(sql, owner, rows);
  const all = counted.map((tag) => [tag.clicks ?? 0, tag] as const);
  const left = all
    .filter(
      ([clicks, { name }]) =>
        after === null || clicks < after[0] || (clicks === after[0] && name > after[1]),
    )
    // By name already, and the sort is stable.
    .toSorted(([a], [b]) => b - a);
  const kept = left.slice(0, limit);
  const last = left.length > limit ? kept.at(-1) : undefined;
  return {
    rows: kept.map(([, tag]) => tag),
    next: last === undefined ? null : [last[0], last[1].name],
  };
}

/**
 * Adds the clicks of the tags' links; null for the tags with the most links when all have more than
 * {@link SUMMED_LINKS_MAX}.
 */
export async function withClicks(
  sql: Sql,
  owner: TagsReader,
  rows: readonly TagRow[],
): Promise<CountedTag[]> {
  const summed = new Set<string>();
  let links = 0;
  for (const row of rows.toSorted((a, b) => a.links - b.links)) {
    if (links + row.links > SUMMED_LINKS_MAX) break;
    links += row.links;
    summed.add(row.name);
  }
  budgets.spend(owner, "listed_links", SUMMED_LINK * links);
  const clicks =
    summed.size === 0 ? new Map<string, number>() : await sumClicks(sql, owner, [...summed]);
  return rows.map((row) => ({
    ...row,
    clicks: summed.has(row.name) ? (clicks.get(row.name) ?? 0) : null,
  }));
}

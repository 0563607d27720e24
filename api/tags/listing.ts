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

/** A tag's place in a list: after it in the order by name, or by links and then by name. */
type TagPosition = { links: number; name: string };

/**
 * The tags found among those that were examined, in order, and where the examination ended: null
 * for the end of the list.
 */
type FoundTags = { rows: TagRow[]; end: TagPosition | null };

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

/**
 * Examines the owner's next `examinedMax` tags in the requested order, by the primary key or
 * `tags_by_links`, and returns the first `limit` whose name contains `search`, ignoring case.
 */
export async function listTags(
  sql: Sql,
  { accountId, mode }: AccountScope,
  { sort, search, after }: { sort: "name" | "links"; search: string; after: TagPosition | null },
  limit: number,
  examinedMax: number,
): Promise<FoundTags> {
  const byLinks = sort === "links";
  const order = byLinks ? sql`-links, name` : sql`name`;
  const afterPosition =
    after === null
      ? sql``
      : byLinks
        ? sql`and (-links, name) > (${-after.links}::bigint, ${after.name})`
        : sql`and name > ${after.name}`;
  const rows = await sql<(TagRow & { is_end: boolean })[]>`
    with examined as materialized (
      select name, color, links from tags
       where account_id = ${accountId} and mode = ${mode} ${afterPosition}
       order by ${order} limit ${examinedMax}
    ), found as materialized (
      select * from examined where strpos(lower(name collate "default"), lower(${search})) > 0
       order by ${order} limit ${limit}
    ), last_examined as (
      select * from (select * from examined order by ${order}) ordered
       where (select count(*) from found) < ${limit} offset ${examinedMax - 1} limit 1
    )
    select name, color, links::float8 as links, is_end
      from (select *, false as is_end from found union all select *, true from last_examined) part
     order by is_end, ${order}`;
  const found = rows.filter(({ is_end }) => !is_end);
  return { rows: found.map(toTagRow), end: rows.find(({ is_end }) => is_end) ?? null };
}

const toTagRow = ({ name, color, links }: TagRow): TagRow => ({ name, color, links });

/**
 * Adds up the clicks of the owner's links by tag, for these tags; those without links are left out.
 */
async function sumClicks(
  sql: Sql,
  { accountId, mode }: AccountScope,
  names: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql<{ name: string; clicks: number }[]>`
    select tag.name, sum(counters.clicks)::float8 as clicks
      from links link
      join link_counters counters on counters.link_id = link.id
     cross join unnest(link.tags) as tag (name)
     where link.account_id = ${accountId} and link.mode = ${mode} and link.tags && ${[...names]}::text[]
       and tag.name = any (${[...names]}::text[])
     group by tag.name`;
  return new Map(rows.map(({ name, clicks }) => [name, clicks]));
}

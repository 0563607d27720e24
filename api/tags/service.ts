/** The operations on tags. A tag exists while a link has it. */
import type * as z from "zod";

import type { changeTagBody } from "../../shared/contracts/tag-schemas.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import { type RetaggedLink, tagsEvent } from "../links/events.ts";
import { lockOwned } from "../owned-rows.ts";
import { isStorable, type Sql, type Transaction } from "../postgres.ts";
import type { CountedTag, Progress, TagRow, TagSort } from "./model.ts";

/** Maximum links that one statement changes, and one request. */
const BATCH = 1_000;
const CHANGED_MAX = 10_000;

type ChangeTagBody = z.output<typeof changeTagBody>;

type Replacement = {
  /** Throws when the tags that exist do not permit it. */
  check: (found: ReadonlyMap<string, TagRow>) => void;
  /** The colour that the new tag gets; undefined: its own, or that of a replaced tag. */
  color?: TagRow["color"] | undefined;
};

export class TagService {
  readonly #sql: Sql;
  readonly #shortUrl: string;

  /** `shortUrl` is the origin of short links. */
  constructor(sql: Sql, shortUrl: string) {
    this.#sql = sql;
    this.#shortUrl = shortUrl;
  }

  /**
   * Lists the requested part of the owner's tags. Throws `invalid_request` when there are too many
   * to sort by clicks, and `rate_limited`.
   */
  async list(owner: AccountScope & Payer, request: TagsRequest): Promise<TagsPart> {
    return isStorable(request.search)
      ? await listCountedTags(this.#sql, owner, request)
      : { rows: [], next: null };
  }

  /**
   * Renames a tag on all links that have it, and sets its colour. `done` is false as of
   * {@link #replace}; a repeated request must then merge. Throws `not_found`, and `tag_taken` when
   * the new name is another tag's and they may not become one.
   */
  async change(
    owner: Writer,
    name: string,
    { name: to = name, color, merge = false }: ChangeTagBody,
  ): Promise<CountedTag & Progress> {
    if (!isStorable(name)) throw notFound("tag");
    if (to === name) {
      budgets.require(owner, "listed_links");
      if (color !== undefined) await this.#changeColor(owner, name, color);
      return { ...(await this.#get(owner, name)), changed: 0, done: true };
    }
    const check = (found: ReadonlyMap<string, TagRow>): void => {
      if (!found.has(name)) throw notFound("tag");
      if (!merge && found.has(to)) throw tagTaken(to);
    };
    const progress = await this.#replace(owner, [name], to, { check, color });
    return { ...(await this.#get(owner, to)), ...progress };
  }

  /** Throws `not_found`. */
  #changeColor(owner: Writer, name: string, color: TagRow["color"]): Promise<void> {
    return this.#sql.begin(async (sql) => {
      if (!(await setColor(sql, owner, name, color))) throw notFound("tag");
      const data = { tag: { name, color } };
      await recordEvents(sql, owner, [{ type: "tag.updated", objectId: null, data }]);
    });
  }

  /** Removes a tag from all links that have it; throws `not_found`. */
  async remove(owner: Writer, name: string): Promise<Progress> {
    if (!isStorable(name)) throw notFound("tag");
    const check = (found: ReadonlyMap<string, TagRow>): void => {
      if (!found.has(name)) throw notFound("tag");
    };
    return await this.#replace(owner, [name], null, { check });
  }

  /** Replaces tags by one, which may exist, on all links that have them. */
  async merge(owner: Writer, tags: readonly string[], into: string): Promise<Progress> {
    const replaced = tags.filter((tag) => tag !== into);
    if (replaced.length === 0) return { changed: 0, done: true };
    return await this.#replace(owner, replaced, into, { check: () => undefined });
  }

  /**
   * Replaces tags by `into`, or removes them when it is null, in transactions of {@link BATCH}
   * links. `done` is false when the request has changed {@link CHANGED_MAX} links, or consumed the
   * account's budget, and more may remain. Throws `rate_limited` when nothing of the budget is left
   * to begin with.
   */
  async #replace(
    owner: Writer,
    tags: readonly string[],
    into: string | null,
    { check, color }: Replacement,
  ): Promise<Progress> {
    budgets.require(owner, "changed_links");
    budgets.require(owner, "ledger_bytes");
    const names = into === null ? tags : [into, ...tags];
    const replaceSome = (transaction: Transaction) =>
      replaceAndRecord(transaction, owner, { tags, into, shortUrl: this.#shortUrl });
    let batch = await this.#sql.begin(async (transaction) => {
      // One transaction at a time decides whether the owner's tags may be renamed.
      await lockOwned(transaction, owner, "tags");
      const found = await findTags(transaction, owner, names);
      check(found);
      const count = await replaceSome(transaction);
      const inherited = names.map((name) => found.get(name)?.color ?? null).find(Boolean) ?? null;
      const kept = color === undefined ? inherited : color;
      if (into !== null) await setColor(transaction, owner, into, kept);
      return count;
    });
    budgets.spend(owner, "changed_links", batch);
    let changed = batch;
    while (batch === BATCH && changed < CHANGED_MAX && mayGoOn(owner)) {
      batch = await this.#sql.begin(replaceSome);
      budgets.spend(owner, "changed_links", batch);
      changed += batch;
    }
    // After a full batch there may be more, or just none.
    const done = batch < BATCH || (await findTags(this.#sql, owner, tags)).size === 0;
    return { changed, done };
  }

  /** Finds one of the owner's tags; throws `not_found`. */
  async #get(owner: Writer, name: string): Promise<CountedTag> {
    const found = await findTags(this.#sql, owner, [name]);
    const [counted] = await withClicks(this.#sql, owner, [...found.values()]);
    if (counted === undefined) throw notFound("tag");
    return counted;
  }
}

const mayGoOn = (owner: Writer): boolean =>
  budgets.waitMs(owner, "changed_links") === 0 && budgets.waitMs(owner, "ledger_bytes") === 0;

/** Replaces tags on {@link BATCH} links at most, and records it; returns the number of links. */
async function replaceAndRecord(
  transaction: Transaction,
  owner: Writer,
  { tags, into, shortUrl }: { tags: readonly string[]; into: string | null; shortUrl: string },
): Promise<number> {
  const changed = await replaceTags(transaction, owner, tags, into, BATCH);
  const events = changed.map((link) => tagsEvent(link, shortUrl));
  await recordEvents(transaction, owner, events);
  return changed.length;
}

const tagTaken = (name: string): ApiError =>
  new ApiError(
    "tag_taken",
    `The tag "${name}" exists already. Send "merge": true to merge the two.`,
    {
      param: "name",
    },
  );

/** Finds the owner's tags of these names, by the primary key. */
async function findTags(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  names: readonly string[],
): Promise<Map<string, TagRow>> {
  const rows = await sql<TagRow[]>`
    select name, color, links::float8 as links from tags
     where account_id = ${accountId} and mode = ${mode} and name = any (${[...names]}::text[])`;
  return new Map(rows.map((row) => [row.name, row]));
}

/** Sets the colour of one of the owner's tags. Returns false when there is no such tag. */
async function setColor(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  name: string,
  color: TagRow["color"],
): Promise<boolean> {
  const { count } = await sql`
    update tags set color = ${color}
     where account_id = ${accountId} and mode = ${mode} and name = ${name}`;
  return count === 1;
}

/**
 * Replaces tags by another one, or by none, on at most `limit` of the owner's links; returns the
 * changed links with their tags before. A link that has several of the tags gets the new one once,
 * in the position of the first. Redirectors do not store tags, so nothing is published.
 */
async function replaceTags(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  tags: readonly string[],
  into: string | null,
  limit: number,
): Promise<RetaggedLink[]> {
  return await sql<RetaggedLink[]>`
    with chosen as materialized (
      select id, tags from links
       where account_id = ${accountId} and mode = ${mode} and tags && ${[...tags]}::text[]
       order by id limit ${limit} for update
    )
    update links link
       set tags = coalesce((
             select array_agg(tag order by place)
               from (select case when tag = any (${[...tags]}::text[]) then ${into} else tag end as tag, min(place) as place
                       from unnest(link.tags) with ordinality as old (tag, place)
                      group by 1) merged
              where tag is not null), '{}'),
           version = next_link_version(), updated_at = greatest(clock_timestamp(), updated_at)
      from chosen
     where link.id = chosen.id
    returning link.id, link.alias, link.title, link.tags, chosen.tags as before,
              (select host from domains where domains.id = link.domain_id) as domain_host`;
}

// Lists tags with counts. Triggers maintain the number of links of each tag, so it costs nothing to
// read. Clicks are added up when they are read, from the counters of the links, and only of so many
// links as a request may read.

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

type TagsPart = { rows: CountedTag[]; next: TagsCursor | null };

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
async function listCountedTags(
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
async function withClicks(
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

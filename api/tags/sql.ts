/** SQL statements on tags, and on all links that have a tag. */
import type { AccountScope } from "../http/principal.ts";
import type { RetaggedLink } from "../links/events.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { TagRow } from "./model.ts";

/** A tag's place in a list: after it in the order by name, or by links and then by name. */
export type TagPosition = { links: number; name: string };

/**
 * The tags found among those that were examined, in order, and where the examination ended: null
 * for the end of the list.
 */
type FoundTags = { rows: TagRow[]; end: TagPosition | null };

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

/** Finds the owner's tags of these names, by the primary key. */
export async function findTags(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  names: readonly string[],
): Promise<Map<string, TagRow>> {
  const rows = await sql<TagRow[]>`
    select name, color, links::float8 as links from tags
     where account_id = ${accountId} and mode = ${mode} and name = any (${[...names]}::text[])`;
  return new Map(rows.map((row) => [row.name, row]));
}

/**
 * Adds up the clicks of the owner's links by tag, for these tags; those without links are left out.
 */
export async function sumClicks(
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

/** Sets the colour of one of the owner's tags. Returns false when there is no such tag. */
export async function setColor(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  name: string,
  color: TagRow["color"],
): Promise<boolean> {
  const rows = await sql`
    update tags set color = ${color}
     where account_id = ${accountId} and mode = ${mode} and name = ${name} returning name`;
  return rows.length === 1;
}

/** Lets one transaction at a time decide whether the owner's tags may be renamed, until it ends. */
export async function lockRenaming(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
): Promise<void> {
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`tags/${accountId}/${mode}`}, 2))`;
}

/**
 * Replaces tags by another one, or by none, on at most `limit` of the owner's links; returns the
 * changed links with their tags before. A link that has several of the tags gets the new one once,
 * in the position of the first. Redirectors do not store tags, so nothing is published.
 */
export async function replaceTags(
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

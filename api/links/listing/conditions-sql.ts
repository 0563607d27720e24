/** Parts of the statements that find the links of a list: order, position, and conditions. */
import type { PendingQuery, Row } from "postgres";

import type { AccountScope } from "../../http/principal.ts";
import type { Sql } from "../../postgres.ts";
import { hasTrigram, type LinkFilter, type LinkOrder, type LinkPosition } from "./filter.ts";

/** The owner's next links with their sort key, from a position on. */
export function examine(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  after: LinkPosition | null,
  rowsMax: number,
) {
  const direction = order.order === "asc" ? sql`asc` : sql`desc`;
  return order.sort !== "created_at"
    ? sql`
        select link.*, owned.key
          from (${ownedInOrder(sql, filter, order, after)} limit ${rowsMax}) owned
          join links link on link.id = owned.id
         order by owned.key ${direction}, owned.id ${direction} limit ${rowsMax}`
    : sql`
        select link.*, link.created_at as key
          from links link
         where link.account_id = ${filter.accountId} and link.mode = ${filter.mode}
               ${isCreatedWithin(sql, filter)} ${isAfter(sql, order, after, sql`link.created_at`, sql`link.id`)}
         order by link.created_at ${direction}, link.id ${direction} limit ${rowsMax}`;
}

/** The owner's links with their sort key, in that order, from a position on; uses only indexes. */
export function ownedInOrder(
  sql: Sql,
  owner: AccountScope & Partial<LinkFilter>,
  order: LinkOrder,
  after: LinkPosition | null,
) {
  const { accountId, mode } = owner;
  const direction = order.order === "asc" ? sql`asc` : sql`desc`;
  if (order.sort !== "created_at") {
    const column = sql`${sql(order.sort)}`;
    return sql`
      select link_id as id, ${column} as key from link_counters
       where account_id = ${accountId} and mode = ${mode}
             ${isAfter(sql, order, after, column, sql`link_id`)}
       order by ${column} ${direction}, link_id ${direction}`;
  }
  return sql`
    select link.id, link.created_at as key from links link
     where link.account_id = ${accountId} and link.mode = ${mode}
           ${isCreatedWithin(sql, owner)} ${isAfter(sql, order, after, sql`link.created_at`, sql`link.id`)}
     order by link.created_at ${direction}, link.id ${direction}`;
}

type Fragment = PendingQuery<Row[]>;

/** The condition that a link follows a position. */
export function isAfter(
  sql: Sql,
  { sort, order }: LinkOrder,
  after: LinkPosition | null,
  key: Fragment,
  id: Fragment,
) {
  if (after === null) return sql``;
  const value =
    sort === "clicks" ? sql`${after.key}::bigint` : sql`${new Date(after.key)}::timestamptz`;
  return order === "asc"
    ? sql`and (${key}, ${id}) > (${value}, ${after.id}::uuid)`
    : sql`and (${key}, ${id}) < (${value}, ${after.id}::uuid)`;
}

/** The column `key` as a number: clicks, or a time in Unix milliseconds. */
export const toNumber = (sql: Sql, { sort }: LinkOrder) =>
  sort === "clicks" ? sql`key::float8` : sql`round(extract(epoch from key) * 1000)::float8`;

/** Joins the tables that the order needs to links `link`, filters by `condition`, and sorts. */
export function joinAndSort(sql: Sql, { sort, order }: LinkOrder, condition = sql`true`) {
  const direction = order === "asc" ? sql`asc` : sql`desc`;
  return sort !== "created_at"
    ? sql`join link_counters counters on counters.link_id = link.id
          where ${condition} order by ${sql(`counters.${sort}`)} ${direction}, link.id ${direction}`
    : sql`where ${condition} order by link.created_at ${direction}, link.id ${direction}`;
}

/** The condition that a link `link` matches. */
export const whereMatches = (sql: Sql, filter: LinkFilter) => sql`
  link.account_id = ${filter.accountId} and link.mode = ${filter.mode}
  ${filter.tags.length === 0 ? sql`` : sql`and link.tags @> ${[...filter.tags]}::text[]`}
  ${hasAlias(sql, filter)} ${isOnDomain(sql, filter)}
  ${
    filter.targetUrl === null
      ? sql``
      : sql`and hashtextextended(link.target_url, 0) = hashtextextended(${filter.targetUrl}, 0)
            and link.target_url = ${filter.targetUrl}`
  }
  ${filter.externalId === null ? sql`` : sql`and link.external_id = ${filter.externalId}`}
  ${filter.createdBy === null ? sql`` : sql`and link.created_by = ${filter.createdBy}`}
  ${hasUtm(sql, filter)}
  ${isCreatedWithin(sql, filter)} ${isExpired(sql, filter)} ${isArchived(sql, filter)} ${containsText(sql, filter)}`;

/** Uses the index of campaigns, which has no links without one. */
function hasUtm(sql: Sql, { utm }: LinkFilter) {
  const conditions = utm.map(({ name, anyOf, noneOf }) => {
    const column = sql(`link.${name}`);
    const value = sql`coalesce(${column}, '')`;
    const named = anyOf.includes("") ? value : column;
    return sql`${anyOf.length === 0 ? sql`` : sql`and ${named} = any (${anyOf}::text[])`}
      ${noneOf.length === 0 ? sql`` : sql`and ${value} <> all (${noneOf}::text[])`}`;
  });
  // An empty list would be a parameter.
  return conditions.length === 0 ? sql`` : conditions;
}

function isCreatedWithin(sql: Sql, { createdAfter, createdBefore }: Partial<LinkFilter>) {
  const from = createdAfter ?? null;
  const to = createdBefore ?? null;
  return sql`${from === null ? sql`` : sql`and link.created_at >= ${from}`}
    ${to === null ? sql`` : sql`and link.created_at < ${to}`}`;
}

function isExpired(sql: Sql, { expired }: LinkFilter) {
  if (expired === null) return sql``;
  return expired
    ? sql`and link.expires_at <= clock_timestamp()`
    : sql`and (link.expires_at is null or link.expires_at > clock_timestamp())`;
}

function isArchived(sql: Sql, { archived }: LinkFilter) {
  if (archived === null) return sql``;
  return archived ? sql`and link.archived` : sql`and link.archived is not true`;
}

/** Uses the unique index of aliases, which begins with the domain. */
function hasAlias(sql: Sql, { alias, accountId, mode }: LinkFilter) {
  if (alias === null) return sql``;
  const own = sql`array(select id from domains where account_id = ${accountId} and mode = ${mode})`;
  return sql`and (link.alias = ${alias} and link.domain_id is null
    or link.alias = ${alias} and link.domain_id = any (${own})
    or lower(link.alias) = lower(${alias}) and link.folded and link.domain_id = any (${own}))`;
}

function isOnDomain(sql: Sql, { domain, accountId, mode }: LinkFilter) {
  if (domain === null) return sql``;
  if (domain === "own") return sql`and link.domain_id is null`;
  return sql`and link.domain_id = (
    select id from domains where account_id = ${accountId} and mode = ${mode} and host = ${domain.host})`;
}

/**
 * The expression of the index `links_search`. No search contains the line breaks between the
 * fields.
 */
export const searchedText = (sql: Sql) =>
  sql`((coalesce(link.title, '') || E'\\n' || link.alias || E'\\n' || link.original_url || E'\\n' || coalesce(link.notes, '')) collate "default")`;

export const toPattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;

function containsText(sql: Sql, { search, respelled, rarePart }: LinkFilter) {
  if (search === null) return sql``;
  const text = searchedText(sql);
  if (respelled !== null)
    return sql`and (${text} ilike ${toPattern(search)} or ${text} ilike ${toPattern(respelled)})`;
  // A search without a trigram would scan the whole index.
  if (!hasTrigram(search) && rarePart === null)
    return sql`and lower(${text}) like lower(${toPattern(search)})`;
  if (rarePart === null) return sql`and ${text} ilike ${toPattern(search)}`;
  // Joined with an empty text, which keeps the index from looking up the trigrams of the whole
  // search too.
  return sql`and ${text} ilike ${toPattern(rarePart)} and ${text} || '' ilike ${toPattern(search)}`;
}

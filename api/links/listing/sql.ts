/** SQL statements that find the links of a list. */
import type { PendingQuery, Row } from "postgres";

import type { Uuid } from "../../../shared/ids.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { Sql } from "../../postgres.ts";
import { hasTrigram, type LinkFilter, type LinkOrder, type LinkPosition } from "./filter.ts";

export type PageWindow = { offset: number; limit: number };

/** The ids of a page, in order, and the number of links on all pages, which may be an estimate. */
export type LinkIds = { ids: Uuid[]; total: number; isEstimate?: boolean };

type Fragment = PendingQuery<Row[]>;

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

/** The links of an owner that a filter selects, in an order, which is read in several ways. */
export class LinkList {
  readonly #sql: Sql;
  readonly filter: LinkFilter;
  readonly order: LinkOrder;

  constructor(sql: Sql, filter: LinkFilter, order: LinkOrder) {
    this.#sql = sql;
    this.filter = filter;
    this.order = order;
  }

  /** The same links from the other end. */
  reversed(): LinkList {
    const order = this.order.order === "asc" ? "desc" : "asc";
    return new LinkList(this.#sql, this.filter, { sort: this.order.sort, order });
  }

  /** Counts the owner's links, also those that the filter does not select. */
  countOwned(): Promise<{ links: number; archived: number }> {
    return countOwnedLinks(this.#sql, this.filter);
  }

  /**
   * Ids of the owner's links, also of those that the filter does not select, by the index of the
   * order: `links_by_account`, `link_counters_by_clicks` or `…_by_last_click`.
   */
  async listOwned({ limit, offset }: PageWindow): Promise<Uuid[]> {
    const rows = await this.#sql<{ id: Uuid }[]>`
      select id from (${this.#owned(null)}) owned limit ${limit} offset ${offset}`;
    return rows.map(({ id }) => id);
  }

  /** As `listOwned`, from a position on; also returns the positions. */
  async listOwnedAfter(after: LinkPosition | null, limit: number): Promise<LinkPosition[]> {
    return await this.#sql<LinkPosition[]>`
      select id, ${this.#keyAsNumber()} as key from (${this.#owned(after)}) owned limit ${limit}`;
  }

  /**
   * Finds the matches by an index, counts and sorts them. Stops after `matchesMax` + 1; with that
   * `total` the page is invalid.
   */
  async sortMatches({ limit, offset }: PageWindow, matchesMax: number): Promise<LinkIds> {
    const sql = this.#sql;
    const [found] = await sql<[LinkIds]>`
      with matched as materialized (
        select link.id, link.created_at from links link where ${this.#matches()} limit ${matchesMax + 1}
      )
      select (select count(*)::integer from matched) as total,
             array(select link.id from matched link ${this.#sorted(sql`true`)} limit ${limit} offset ${offset}) as ids`;
    return found;
  }

  /** Scans the owner's links in the requested order until the page is full. */
  async scanMatches({ limit, offset }: PageWindow): Promise<Uuid[]> {
    const rows = await this.#sql<{ id: Uuid }[]>`
      select link.id from links link ${this.#sorted(this.#matches())} limit ${limit} offset ${offset}`;
    return rows.map(({ id }) => id);
  }

  /** Counts the matches, up to `max` + 1. */
  async countMatches(max: number): Promise<number> {
    const [{ total }] = await this.#sql<[{ total: number }]>`
      select count(*)::integer as total
        from (select from links link where ${this.#matches()} limit ${max + 1}) matched`;
    return total;
  }

  /** PostgreSQL's estimate of the number of matches, from its column statistics. */
  async estimateMatches(): Promise<number> {
    const [row] = await this.#sql<[{ "QUERY PLAN": [{ Plan: { "Plan Rows": number } }] }]>`
      explain (format json) select from links link where ${this.#matches()}`;
    return row["QUERY PLAN"][0].Plan["Plan Rows"];
  }

  /**
   * A page of the matches among the first `rowsMax` of the owner's links, their number, and where
   * the scan ended: null for the end of the list.
   */
  async findAmongFirst(
    { limit, offset }: PageWindow,
    rowsMax: number,
  ): Promise<{ ids: Uuid[]; found: number; end: LinkPosition | null }> {
    const direction = this.#direction();
    const [{ ids, found, id, key }] = await this.#sql<
      [{ ids: Uuid[]; found: number; id: Uuid | null; key: number }]
    >`
      with matched as materialized (
        select link.id, link.key from (${this.#examined(null, rowsMax)}) link where ${this.#matches()}
      ), last_examined as (
        select * from (${this.#owned(null)}) owned offset ${rowsMax - 1} limit 1
      )
      select (select count(*)::integer from matched) as found,
             array(select id from matched order by key ${direction}, id ${direction} limit ${limit} offset ${offset}) as ids,
             last_examined.id, ${this.#keyAsNumber()} as key
        from (select) always left join last_examined on true`;
    return { ids, found, end: id === null ? null : { id, key } };
  }

  /**
   * Examines at most `rowsMax` of the owner's links from a position on; returns the first `limit`
   * that match, and where the scan ended: null for the end of the list. Uses one statement, so that
   * matches and end come from the same moment.
   */
  async scanAfter(
    after: LinkPosition | null,
    limit: number,
    rowsMax: number,
  ): Promise<{ matches: LinkPosition[]; end: LinkPosition | null }> {
    const direction = this.#direction();
    const rows = await this.#sql<(LinkPosition & { is_end: boolean })[]>`
      with matches as materialized (
        select link.id, link.key from (${this.#examined(after, rowsMax)}) link
         where ${this.#matches()}
         order by link.key ${direction}, link.id ${direction} limit ${limit}
      ), last_examined as materialized (
        select id, key from (${this.#owned(after)}) owned
         where (select count(*) from matches) < ${limit}
         offset ${rowsMax - 1} limit 1
      ), found as (
        select id, key, false as is_end from matches
        union all
        select id, key, true from last_examined
      )
      select id, ${this.#keyAsNumber()} as key, is_end from found
       order by is_end, found.key ${direction}, id ${direction}`;
    const matches = rows.filter(({ is_end }) => !is_end);
    return { matches, end: rows.find(({ is_end }) => is_end) ?? null };
  }

  /**
   * Finds the matches by an index and sorts those after a position. Undefined when there are more
   * than `matchesMax`.
   */
  async sortMatchesAfter(
    after: LinkPosition | null,
    limit: number,
    matchesMax: number,
  ): Promise<LinkPosition[] | undefined> {
    const sql = this.#sql;
    const direction = this.#direction();
    const byCounter = this.order.sort !== "created_at";
    const key = sql`${sql(`${byCounter ? "counters" : "matched"}.${this.order.sort}`)}`;
    const rows = await sql<{ id: Uuid | null; key: number; total: number }[]>`
      with matched as materialized (
        select link.id, link.created_at from links link where ${this.#matches()} limit ${matchesMax + 1}
      ), part as (
        select matched.id, ${key} as key
          from matched ${byCounter ? sql`join link_counters counters on counters.link_id = matched.id` : sql``}
         where true ${this.#isAfter(after, key, sql`matched.id`)}
         order by ${key} ${direction}, matched.id ${direction} limit ${limit}
      )
      select part.id, ${this.#keyAsNumber()} as key, counted.total
        from (select count(*)::integer as total from matched) counted left join part on true
       order by part.key ${direction}, part.id ${direction}`;
    if ((rows[0]?.total ?? 0) > matchesMax) return undefined;
    return rows.flatMap(({ id, key }) => (id === null ? [] : [{ id, key }]));
  }

  #direction(): Fragment {
    return this.order.order === "asc" ? this.#sql`asc` : this.#sql`desc`;
  }

  /** The condition that a link `link` matches. */
  #matches(): Fragment {
    return whereMatches(this.#sql, this.filter);
  }

  /** The owner's links with their sort key, in order, from a position on; uses only indexes. */
  #owned(after: LinkPosition | null): Fragment {
    const sql = this.#sql;
    const { accountId, mode } = this.filter;
    const direction = this.#direction();
    if (this.order.sort !== "created_at") {
      const column = sql`${sql(this.order.sort)}`;
      return sql`
        select link_id as id, ${column} as key from link_counters
         where account_id = ${accountId} and mode = ${mode} ${this.#isAfter(after, column, sql`link_id`)}
         order by ${column} ${direction}, link_id ${direction}`;
    }
    return sql`
      select link.id, link.created_at as key from links link
       where link.account_id = ${accountId} and link.mode = ${mode}
             ${isCreatedWithin(sql, this.filter)} ${this.#isAfter(after, sql`link.created_at`, sql`link.id`)}
       order by link.created_at ${direction}, link.id ${direction}`;
  }

  /** The owner's next links, all columns, with their sort key, from a position on. */
  #examined(after: LinkPosition | null, rowsMax: number): Fragment {
    const sql = this.#sql;
    const { accountId, mode } = this.filter;
    const direction = this.#direction();
    return this.order.sort === "created_at"
      ? sql`
          select link.*, link.created_at as key from links link
           where link.account_id = ${accountId} and link.mode = ${mode}
                 ${isCreatedWithin(sql, this.filter)} ${this.#isAfter(after, sql`link.created_at`, sql`link.id`)}
           order by link.created_at ${direction}, link.id ${direction} limit ${rowsMax}`
      : sql`
          select link.*, owned.key
            from (${this.#owned(after)} limit ${rowsMax}) owned join links link on link.id = owned.id
           order by owned.key ${direction}, owned.id ${direction} limit ${rowsMax}`;
  }

  /** The condition that a link follows a position. */
  #isAfter(after: LinkPosition | null, key: Fragment, id: Fragment): Fragment {
    const sql = this.#sql;
    if (after === null) return sql``;
    const value =
      this.order.sort === "clicks"
        ? sql`${after.key}::bigint`
        : sql`${new Date(after.key)}::timestamptz`;
    return this.order.order === "asc"
      ? sql`and (${key}, ${id}) > (${value}, ${after.id}::uuid)`
      : sql`and (${key}, ${id}) < (${value}, ${after.id}::uuid)`;
  }

  /** The column `key` as a number: clicks, or a time in Unix milliseconds. */
  #keyAsNumber(): Fragment {
    return this.order.sort === "clicks"
      ? this.#sql`key::float8`
      : this.#sql`round(extract(epoch from key) * 1000)::float8`;
  }

  /** Joins the tables that the order needs to links `link`, filters by `condition`, and sorts. */
  #sorted(condition: Fragment): Fragment {
    const sql = this.#sql;
    const direction = this.#direction();
    return this.order.sort === "created_at"
      ? sql`where ${condition} order by link.created_at ${direction}, link.id ${direction}`
      : sql`join link_counters counters on counters.link_id = link.id
            where ${condition} order by ${sql(`counters.${this.order.sort}`)} ${direction}, link.id ${direction}`;
  }
}

/** The condition that a link `link` matches. */
const whereMatches = (sql: Sql, filter: LinkFilter) => sql`
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

function isCreatedWithin(sql: Sql, { createdAfter: from, createdBefore: to }: LinkFilter) {
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
    or fold_alias(link.alias) = fold_alias(${alias}) and link.folded and link.domain_id = any (${own}))`;
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
const searchedText = (sql: Sql) =>
  sql`((coalesce(link.title, '') || E'\\n' || link.alias || E'\\n' || link.original_url || E'\\n' || coalesce(link.notes, '')) collate "default")`;

const toPattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;

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

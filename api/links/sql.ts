/** SQL statements on links. */
import type { ActiveLink, LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Consumption, requireConsumed } from "../limits/quotas.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";

export type NewLink = Omit<LinkRow, "version" | "updated_at" | "clicks" | "unique_clicks">;

/** A feed record without its version, which PostgreSQL assigns. */
export type RecordDraft = Omit<ActiveLink, "version">;

/**
 * Inserts a link with its counters and its outbox row; returns the link's version and the outbox row's id.
 * Locks the alias before it assigns the version, so that of two successive links under one alias the later
 * one has the higher version. Consumes the daily quota after taking that lock, so that all creations lock
 * in the same order. A taken alias violates `links_alias_key`. Throws `rate_limited` when the quota is
 * exhausted; a failed insert consumes no quota.
 */
export async function insertLink(
  sql: Sql,
  link: NewLink,
  draft: RecordDraft,
): Promise<{ version: number; outboxId: number }> {
  const [row] = await sql<[Consumption & { version: string | null; outbox_id: string | null }]>`
    with alias_lock as materialized (
      select pg_advisory_xact_lock(hashtextextended(${draft.domain + "/" + link.alias}, 1)) is not null as held
    ), quota as materialized (
      select consumed.*
        from alias_lock
       cross join lateral consume_quota(${link.account_id}, ${link.mode}, 'links_per_day', held::integer) consumed
    ), drawn as materialized (
      select nextval('link_version') as version from quota where granted
    ), link as (
      insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, password_hash,
                         expires_at, utm_source, utm_medium, utm_campaign, utm_term, utm_content,
                         forward_query, tags, version, created_at, updated_at)
      select ${link.id}, ${link.account_id}, ${link.mode}, ${link.domain_id}, ${link.alias},
             ${link.original_url}, ${link.target_url}, ${link.title}, ${link.password_hash}, ${link.expires_at},
             ${link.utm_source}, ${link.utm_medium}, ${link.utm_campaign}, ${link.utm_term},
             ${link.utm_content}, ${link.forward_query}, ${link.tags}, drawn.version, ${link.created_at},
             ${link.created_at}
        from drawn
    ), counters as (
      insert into link_counters (link_id, account_id, mode)
      select ${link.id}, ${link.account_id}, ${link.mode} from drawn
    ), outbox as (
      insert into link_outbox (version, record)
      select drawn.version, ${sql.json(draft)}::jsonb || jsonb_build_object('version', drawn.version)
        from drawn
      returning version, id as outbox_id
    )
    select quota.*, outbox.version, outbox.outbox_id from quota left join outbox on true`;
  requireConsumed("links_per_day", row);
  return { version: Number(row.version), outboxId: Number(row.outbox_id) };
}

/** The SELECT and FROM clauses that read a whole {@link LinkRow}. */
const selectLinks = (sql: Sql | Transaction) => sql`
    select link.id, link.account_id, link.mode, link.domain_id, domain.host as domain_host, link.alias,
           link.original_url, link.target_url, link.title, link.password_hash, link.expires_at,
           link.utm_source, link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content,
           link.forward_query, link.tags, link.version::float8 as version, link.created_at, link.updated_at,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks
      from links link
      join link_counters counters on counters.link_id = link.id
      left join domains domain on domain.id = link.domain_id`;

/** Finds one of the owner's links by the primary keys of `links` and `link_counters`. */
export async function findLink(
  sql: Sql | Transaction,
  owner: AccountScope,
  id: Uuid,
): Promise<LinkRow | undefined> {
  const [row] = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = ${id} and link.account_id = ${owner.accountId} and link.mode = ${owner.mode}`;
  return row;
}

/** As {@link findLink}, with a row lock that blocks other changes until the transaction ends. */
export async function lockLink(
  transaction: Transaction,
  owner: AccountScope,
  id: Uuid,
): Promise<LinkRow | undefined> {
  await transaction`
    select from links where id = ${id} and account_id = ${owner.accountId} and mode = ${owner.mode} for update`;
  // A second statement, so that it sees what the previous holder of the lock committed.
  return await findLink(transaction, owner, id);
}

/**
 * Takes the advisory locks of short links (domain and alias) before they are assigned new versions: see
 * {@link insertLink}. The locks are sorted, so that concurrent transactions cannot deadlock.
 */
export async function lockAliases(
  transaction: Transaction,
  shortLinks: readonly { domain: string; alias: string }[],
): Promise<void> {
  const names = shortLinks.map(({ domain, alias }) => `${domain}/${alias}`).toSorted();
  for (const name of names) {
    await transaction`select pg_advisory_xact_lock(hashtextextended(${name}, 1))`;
  }
}

/** Updates a link's row and returns its new version. A taken alias violates `links_alias_key`. */
export async function updateLinkRow(transaction: Transaction, link: LinkRow): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    update links
       set alias = ${link.alias}, original_url = ${link.original_url}, target_url = ${link.target_url},
           title = ${link.title}, password_hash = ${link.password_hash}, expires_at = ${link.expires_at},
           utm_source = ${link.utm_source}, utm_medium = ${link.utm_medium},
           utm_campaign = ${link.utm_campaign}, utm_term = ${link.utm_term},
           utm_content = ${link.utm_content}, forward_query = ${link.forward_query},
           tags = ${link.tags},
           version = nextval('link_version'), updated_at = ${link.updated_at}
     where id = ${link.id}
    returning version`;
  return Number(row.version);
}

/** Deletes a link with its counters, and returns the version of the deletion. */
export async function deleteLinkRow(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with deleted as (delete from links where id = ${id} returning id)
    select nextval('link_version') as version from deleted`;
  return Number(row.version);
}

/** Adds a record to the outbox, and returns the row's id. */
export async function insertOutboxEntry(
  transaction: Transaction,
  record: LinkRecord,
): Promise<number> {
  const [row] = await transaction<[{ id: string }]>`
    insert into link_outbox (version, record)
    values (${record.version}, ${transaction.json(record)}) returning id`;
  return Number(row.id);
}

/** Links of all accounts in id order, starting after `after`. */
export async function listLinksAfter(
  sql: Sql,
  after: Uuid | null,
  limit: number,
): Promise<LinkRow[]> {
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where ${after}::uuid is null or link.id > ${after}
     order by link.id limit ${limit}`;
}

/** Adds many records to the outbox; the relay of any API process publishes them. */
export async function insertOutboxEntries(sql: Sql, records: readonly LinkRecord[]): Promise<void> {
  const rows = records.map((record) => ({ version: record.version, record: sql.json(record) }));
  await sql`insert into link_outbox ${sql(rows, "version", "record")}`;
}

/** Creation times of those of the links that belong to the owner, by primary key. */
export async function findCreationTimes(
  sql: Sql,
  owner: AccountScope,
  ids: readonly Uuid[],
): Promise<{ id: Uuid; created_at: Date }[]> {
  return await sql<{ id: Uuid; created_at: Date }[]>`
    select id, created_at from links
     where id = any (${[...ids]}::uuid[]) and account_id = ${owner.accountId} and mode = ${owner.mode}`;
}

/** Creation time of the owner's oldest link, from the index on account and time. */
export async function findFirstCreation(sql: Sql, owner: AccountScope): Promise<Date | undefined> {
  const [row] = await sql<{ created_at: Date }[]>`
    select created_at from links
     where account_id = ${owner.accountId} and mode = ${owner.mode}
     order by created_at
     limit 1`;
  return row?.created_at;
}

export type LinkFilter = AccountScope & {
  /** Text that title, alias or original URL contains, ignoring case; null for all. */
  search: string | null;
  /** A tag that links must have; null for all. */
  tag: string | null;
};

export type LinkOrder = { sort: "created_at" | "clicks"; order: "asc" | "desc" };

export type PageWindow = { offset: number; limit: number };

/** The ids of a page, in order, and the number of links on all pages. */
export type LinkIds = { ids: Uuid[]; total: number };

/** Reads links by their primary keys, in the order of `ids`. */
export async function findLinksInOrder(sql: Sql, ids: readonly Uuid[]): Promise<LinkRow[]> {
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = any (${[...ids]}::uuid[])
     order by array_position(${[...ids]}::uuid[], link.id)`;
}

/**
 * Finds the matches by the indexes `links_search` and `links_by_tag`, counts and sorts them. Stops after
 * `matchesMax` + 1; with that `total` the page is not valid.
 */
export async function findAndSortMatches(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: PageWindow,
  matchesMax: number,
): Promise<LinkIds> {
  const [found] = await sql<[LinkIds]>`
    with matched as materialized (
      select link.id, link.created_at from links link where ${whereMatches(sql, filter)} limit ${matchesMax + 1}
    )
    select (select count(*)::integer from matched) as total,
           array(select link.id from matched link ${joinAndSort(sql, order)} limit ${limit} offset ${offset}) as ids`;
  return found;
}

/** Scans the owner's links in the requested order until the page is full. */
export async function findMatchesInOrder(
  sql: Sql,
  filter: LinkFilter,
  order: LinkOrder,
  { limit, offset }: PageWindow,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select link.id from links link ${joinAndSort(sql, order, whereMatches(sql, filter))}
     limit ${limit} offset ${offset}`;
  return rows.map(({ id }) => id);
}

export async function countMatches(sql: Sql, filter: LinkFilter): Promise<number> {
  const [{ total }] = await sql<[{ total: number }]>`
    select count(*)::integer as total from links link where ${whereMatches(sql, filter)}`;
  return total;
}

/** Number of the owner's links, from the totals that triggers maintain. */
export async function countOwnedLinks(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<number> {
  const [row] = await sql<{ links: number }[]>`
    select links::float8 as links from link_totals where account_id = ${accountId} and mode = ${mode}`;
  return row?.links ?? 0;
}

/** Lists ids of the owner's links by the indexes `links_by_account` or `link_counters_by_clicks`. */
export async function listOwnedIds(
  sql: Sql,
  { accountId, mode }: AccountScope,
  { sort, order }: LinkOrder,
  { limit, offset }: PageWindow,
): Promise<Uuid[]> {
  const direction = order === "desc" ? sql`desc` : sql`asc`;
  const source =
    sort === "clicks"
      ? sql`select link_id as id from link_counters`
      : sql`select id as id from links`;
  const key =
    sort === "clicks" ? sql`clicks ${direction}, link_id` : sql`created_at ${direction}, id`;
  const rows = await sql<{ id: Uuid }[]>`
    ${source} where account_id = ${accountId} and mode = ${mode}
     order by ${key} ${direction}
     limit ${limit} offset ${offset}`;
  return rows.map(({ id }) => id);
}

/** Joins what the order needs to links `link`, filters them by `condition`, and sorts them. */
function joinAndSort(sql: Sql, { sort, order }: LinkOrder, condition = sql`true`) {
  const direction = order === "asc" ? sql`asc` : sql`desc`;
  return sort === "clicks"
    ? sql`join link_counters counters on counters.link_id = link.id
          where ${condition} order by counters.clicks ${direction}, link.id ${direction}`
    : sql`where ${condition} order by link.created_at ${direction}, link.id ${direction}`;
}

function whereMatches(sql: Sql, { accountId, mode, search, tag }: LinkFilter) {
  const hasTag = tag === null ? sql`` : sql`and link.tags @> array[${tag}]`;
  return sql`link.account_id = ${accountId} and link.mode = ${mode} ${hasTag} ${containsText(sql, search)}`;
}

/** PostgreSQL's trigrams consist of letters and digits. */
const TRIGRAM = /[\p{L}\p{N}]{3}/u;

/**
 * Uses the expression of the index `links_search`. Neither fields nor searches contain the line breaks that
 * separate the fields.
 */
function containsText(sql: Sql, search: string | null) {
  if (search === null) return sql``;
  const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const text = sql`coalesce(link.title, '') || E'\\n' || link.alias || E'\\n' || link.original_url`;
  // A search without a trigram would scan the whole index.
  return TRIGRAM.test(search)
    ? sql`and ((${text}) collate "default") ilike ${pattern}`
    : sql`and lower((${text}) collate "default") like lower(${pattern})`;
}

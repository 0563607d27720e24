/** SQL statements on many links at once. */
import type { LinkMessage } from "../../../shared/contracts/link-record.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { Consumption } from "../../limits/quotas.ts";
import type { Sql, Transaction } from "../../postgres.ts";
import type { LinkRow } from "../model.ts";

/**
 * Takes the advisory locks of short links (`domain/alias`) in sorted order, and then draws `count`
 * versions: as `insertLink` does for one link.
 */
export async function lockAliasesAndDrawVersions(
  transaction: Transaction,
  names: readonly string[],
  count: number,
): Promise<number[]> {
  const sorted = [...new Set(names)].toSorted();
  const rows = await transaction<{ version: string }[]>`
    with locked as materialized (
      select pg_advisory_xact_lock(hashtextextended(name, 1)) is not null as held
        from (select name from unnest(${sorted}::text[]) with ordinality as sorted (name, place) order by place) names
    )
    select next_link_version() as version
      from generate_series(1, ${count}::integer) where (select count(*) from locked) >= 0`;
  return rows.map(({ version }) => Number(version));
}

/**
 * Consumes the daily quota of links, or refunds it when `requested` is negative; locks it until the
 * transaction ends.
 */
export async function consumeLinks(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  requested: number,
): Promise<Consumption> {
  const [row] = await transaction<[Consumption]>`
    select * from consume_quota(${accountId}, ${mode}, 'links_per_day', ${requested})`;
  return row;
}

export type NewRow = { row: LinkRow; message: LinkMessage };

/**
 * Inserts links with their counters and outbox entries; returns the outbox ids by link. Skips links
 * whose alias or external id is taken. The keys of a row are the columns of `links`; others are
 * ignored.
 */
export async function insertLinks(
  transaction: Transaction,
  links: readonly NewRow[],
): Promise<Map<Uuid, number>> {
  const rows = links.map(({ row }) => row);
  const records = links.map(({ row, message }) => ({
    id: row.id,
    version: row.version,
    record: message,
  }));
  const inserted = await transaction<{ link_id: Uuid; outbox_id: string }[]>`
    with link as (
      insert into links
      select new.* from jsonb_populate_recordset(null::links, ${transaction.json(rows)}::jsonb) new
      on conflict do nothing
      returning id, account_id, mode
    ), counters as (
      insert into link_counters (link_id, account_id, mode) select id, account_id, mode from link
    ), outbox as (
      insert into link_outbox (version, record)
      select change.version, change.record
        from link
        join jsonb_to_recordset(${transaction.json(records)}::jsonb) as change (id uuid, version bigint, record jsonb)
          on change.id = link.id
      returning id, record
    )
    select (record ->> 'link_id')::uuid as link_id, id as outbox_id from outbox`;
  return new Map(inserted.map((row) => [row.link_id, Number(row.outbox_id)]));
}

/** Returns the external ids that the owner's links have, with these links. */
export async function findExternalIds(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  externalIds: readonly string[],
): Promise<Map<string, Uuid>> {
  const rows = await sql<{ id: Uuid; external_id: string }[]>`
    select id, external_id from links
     where account_id = ${accountId} and mode = ${mode} and external_id = any (${[...externalIds]}::text[])`;
  return new Map(rows.map((row) => [row.external_id, row.id]));
}

/**
 * Returns the short links that exist, as `domain_id/alias`; aliases are in lower case where case is
 * ignored.
 */
export async function findAliases(
  sql: Sql | Transaction,
  links: readonly { domain_id: Uuid | null; alias: string; folded: boolean }[],
): Promise<Set<string>> {
  const names = links.map(({ domain_id, alias, folded }) => ({ domain_id, alias, folded }));
  const rows = await sql<{ name: string }[]>`
    with wanted as (
      select * from jsonb_to_recordset(${sql.json(names)}::jsonb) as wanted (domain_id uuid, alias text, folded boolean)
    )
    select coalesce(link.domain_id::text, '') || '/' || link.alias as name
      from wanted
      join links link on link.alias = wanted.alias and link.domain_id is not distinct from wanted.domain_id
    union
    select link.domain_id::text || '/' || lower(link.alias)
      from wanted
      join links link on lower(link.alias) = lower(wanted.alias) and link.domain_id = wanted.domain_id and link.folded
     where wanted.folded`;
  return new Set(rows.map(({ name }) => name));
}

/** Locks the owner's links among these ids, until the transaction ends. */
export async function lockLinks(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<void> {
  await transaction`
    select from links
     where id = any (${[...ids]}::uuid[]) and account_id = ${accountId} and mode = ${mode}
     order by id for update`;
}

/** Reads the owner's links among these ids, by primary key. */
export async function findOwnedLinks(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<Map<Uuid, LinkRow>> {
  const rows = await sql<LinkRow[]>`
    select link.*, link.archived is true as archived, link.taken_down is true as taken_down,
           link.folded is true as folded,
           (link.domain_id is null or domain.verified_at is not null) as served, link.version::float8 as version, domain.host as domain_host,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks
      from links link
      join link_counters counters on counters.link_id = link.id
      left join domains domain on domain.id = link.domain_id
     where link.id = any (${[...ids]}::uuid[]) and link.account_id = ${accountId} and link.mode = ${mode}`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Updates links; each row has its new version. A taken external id violates `links_external_id_key`. */
export async function updateLinkRows(
  transaction: Transaction,
  rows: readonly LinkRow[],
): Promise<void> {
  await transaction`
    update links link
       set alias = new.alias, original_url = new.original_url, target_url = new.target_url, title = new.title,
           password_hash = new.password_hash, expires_at = new.expires_at, utm_source = new.utm_source,
           utm_medium = new.utm_medium, utm_campaign = new.utm_campaign, utm_term = new.utm_term,
           utm_content = new.utm_content, forward_query = new.forward_query, tags = new.tags,
           external_id = new.external_id, extras = new.extras, archived = new.archived, version = new.version, updated_at = new.updated_at
      from jsonb_populate_recordset(null::links, ${transaction.json([...rows])}::jsonb) new
     where link.id = new.id`;
}

/** Deletes links with their counters. */
export async function deleteLinkRows(
  transaction: Transaction,
  ids: readonly Uuid[],
): Promise<void> {
  await transaction`delete from links where id = any (${[...ids]}::uuid[])`;
}

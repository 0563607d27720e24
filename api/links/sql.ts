/** SQL statements on links. */
import type { ActiveLink, LinkMessage } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Consumption, requireConsumed } from "../limits/quotas.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";

export type NewLink = Omit<LinkRow, "version" | "updated_at" | "clicks" | "unique_clicks"> & {
  /** Clicks counted so far; absent for a new link. */
  clicks?: number;
};

/** A feed record without its version, which PostgreSQL assigns. */
export type RecordDraft = Omit<ActiveLink, "version">;

/** Its message. */
type MessageDraft = Omit<LinkMessage, "version">;

/** A settings column, as a value of `jsonb`. */
const jsonOf = (sql: Sql | Transaction, { extras }: Pick<LinkRow, "extras">) =>
  extras === null ? null : sql.json(extras);

/**
 * Inserts a link with its counters and its outbox row; returns the link's version and the outbox
 * row's id. Locks the alias before it assigns the version, so that of two successive links under
 * one alias the later one has the higher version. Consumes the daily quota after taking that lock,
 * so that all creations lock in the same order. A taken alias violates `links_alias_key`. Throws
 * `rate_limited` when the quota is exhausted; a failed insert consumes no quota.
 */
export async function insertLink(
  sql: Sql,
  link: NewLink,
  draft: MessageDraft,
): Promise<{ version: number; outboxId: number }> {
  const [row] = await sql<[Consumption & { version: string | null; outbox_id: string | null }]>`
    with alias_lock as materialized (
      select pg_advisory_xact_lock(hashtextextended(${draft.domain + "/" + draft.alias}, 1)) is not null as held
    ), quota as materialized (
      select consumed.*
        from alias_lock
       cross join lateral consume_quota(${link.account_id}, ${link.mode}, 'links_per_day', held::integer) consumed
    ), drawn as materialized (
      select next_link_version() as version from quota where granted
    ), link as (
      insert into links (id, account_id, mode, domain_id, alias, original_url, target_url, title, password_hash,
                         expires_at, utm_source, utm_medium, utm_campaign, utm_term, utm_content,
                         forward_query, tags, external_id, extras, archived, folded, version, created_at,
                         updated_at)
      select ${link.id}, ${link.account_id}, ${link.mode}, ${link.domain_id}, ${link.alias},
             ${link.original_url}, ${link.target_url}, ${link.title}, ${link.password_hash}, ${link.expires_at},
             ${link.utm_source}, ${link.utm_medium}, ${link.utm_campaign}, ${link.utm_term},
             ${link.utm_content}, ${link.forward_query}, ${link.tags}, ${link.external_id},
             ${jsonOf(sql, link)}::jsonb, ${link.archived}, ${link.folded}, drawn.version, ${link.created_at},
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
           link.forward_query, link.tags, link.external_id, link.extras, link.archived is true as archived,
           link.taken_down is true as taken_down, link.folded is true as folded,
           (link.domain_id is null or domain.verified_at is not null) as served, link.version::float8 as version,
           link.created_at, link.updated_at,
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

/** Finds the owner's link with an external id, by the index `links_external_id_key`. */
export async function findExternalLink(
  sql: Sql,
  { accountId, mode }: AccountScope,
  externalId: string,
): Promise<LinkRow | undefined> {
  const [row] = await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.account_id = ${accountId} and link.mode = ${mode} and link.external_id = ${externalId}`;
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
           tags = ${link.tags}, external_id = ${link.external_id}, extras = ${jsonOf(transaction, link)}::jsonb,
           archived = ${link.archived}, version = next_link_version(), updated_at = ${link.updated_at}
     where id = ${link.id}
    returning version`;
  return Number(row.version);
}

/** Deletes a link with its counters, and returns the version of the deletion. */
export async function deleteLinkRow(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with deleted as (delete from links where id = ${id} returning id)
    select next_link_version() as version from deleted`;
  return Number(row.version);
}

/**
 * Adds a record to the outbox, and returns the row's id. A `due` record is dated back so that
 * relays publish it at their next poll: for processes that cannot publish it themselves.
 */
export async function insertOutboxEntry(
  transaction: Transaction,
  record: LinkMessage,
  due?: "due",
): Promise<number> {
  const [row] = await transaction<[{ id: string }]>`
    insert into link_outbox (version, record, created_at)
    values (${record.version}, ${transaction.json(record)},
            now() - make_interval(mins => ${due === undefined ? 0 : 1}))
    returning id`;
  return Number(row.id);
}

/** Finds and locks the link with an alias on a domain, of any account; `host` is null for the service's own domain. */
export async function lockLinkByName(
  transaction: Transaction,
  host: string | null,
  alias: string,
): Promise<LinkRow | undefined> {
  const [found] = await transaction<{ id: Uuid }[]>`
    select link.id
      from links link left join domains domain on domain.id = link.domain_id
     where (link.alias = ${alias} or link.folded and lower(link.alias) = lower(${alias}))
           and (link.domain_id is null and ${host}::text is null
                or domain.host = ${host} and domain.verified_at is not null)
       for update of link`;
  if (found === undefined) return undefined;
  const [row] = await transaction<
    LinkRow[]
  >`${selectLinks(transaction)} where link.id = ${found.id}`;
  return row;
}

/** Sets whether a link is taken down, and returns its new version. */
export async function setTakenDown(
  transaction: Transaction,
  id: Uuid,
  down: boolean,
): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    update links set taken_down = ${down}, version = next_link_version() where id = ${id} returning version`;
  return Number(row.version);
}

/** Creation times of the owner's links among these ids, by primary key. */
export async function findCreationTimes(
  sql: Sql,
  owner: AccountScope,
  ids: readonly Uuid[],
): Promise<{ id: Uuid; created_at: Date }[]> {
  return await sql<{ id: Uuid; created_at: Date }[]>`
    select id, created_at from links
     where id = any (${[...ids]}::uuid[]) and account_id = ${owner.accountId} and mode = ${owner.mode}`;
}

/** Selects links that have one of the tags and are on one of the domains. */
export type LinkProperties = {
  /** undefined: any tags. */
  tags?: readonly string[];
  /** Hosts, null for the service's own domain; undefined: any domain. */
  domains?: readonly (string | null)[];
};

/** Ids of the owner's links with these properties, `max` + 1 at most. */
export async function findLinkIds(
  sql: Sql,
  { accountId, mode }: AccountScope,
  { tags, domains }: LinkProperties,
  max: number,
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    select link.id
      from links link left join domains domain on domain.id = link.domain_id
     where link.account_id = ${accountId} and link.mode = ${mode}
       ${tags === undefined ? sql`` : sql`and link.tags && ${[...tags]}::text[]`}
       ${domains === undefined ? sql`` : sql`and coalesce(domain.host, '') = any (${domains.map((host) => host ?? "")}::text[])`}
     limit ${max + 1}`;
  return rows.map(({ id }) => id);
}

/** Tags and domain (null for the service's own) of the owner's links among these ids. */
export async function findLinkProperties(
  sql: Sql,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<{ id: Uuid; tags: string[]; host: string | null }[]> {
  return await sql<{ id: Uuid; tags: string[]; host: string | null }[]>`
    select link.id, link.tags, domain.host
      from links link left join domains domain on domain.id = link.domain_id
     where link.id = any (${[...ids]}::uuid[]) and link.account_id = ${accountId} and link.mode = ${mode}`;
}

/** Names of the owner's links among these ids, by primary key. */
export async function findLinkNames(
  sql: Sql,
  { accountId, mode }: AccountScope,
  ids: readonly Uuid[],
): Promise<Pick<LinkRow, "id" | "alias" | "title" | "domain_host">[]> {
  return await sql<Pick<LinkRow, "id" | "alias" | "title" | "domain_host">[]>`
    select link.id, link.alias, link.title, domain.host as domain_host
      from links link left join domains domain on domain.id = link.domain_id
     where link.id = any (${[...ids]}::uuid[]) and link.account_id = ${accountId} and link.mode = ${mode}`;
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

/** Reads links by their primary keys, in the order of `ids`. */
export async function findLinksInOrder(
  sql: Sql | Transaction,
  ids: readonly Uuid[],
): Promise<LinkRow[]> {
  return await sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id = any (${[...ids]}::uuid[])
     order by array_position(${[...ids]}::uuid[], link.id)`;
}

/** Links that were taken down individually, of all accounts. */
export const listTakenDown = async (sql: Sql): Promise<{ alias: string; host: string | null }[]> =>
  await sql<{ alias: string; host: string | null }[]>`
    select link.alias, domain.host
      from links link left join domains domain on domain.id = link.domain_id
     where link.taken_down order by domain.host nulls first, link.alias`;

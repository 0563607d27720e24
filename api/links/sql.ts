/** SQL statements on links. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";

/** The SELECT and FROM clauses that read a whole {@link LinkRow}. */
export const selectLinks = (sql: Sql | Transaction) => sql`
    select link.id, link.account_id, link.mode, link.domain_id, domain.host as domain_host, link.alias,
           link.original_url, link.target_url, link.title, link.notes, link.created_by, link.password_hash, link.expires_at,
           link.utm_source, link.utm_medium, link.utm_campaign, link.utm_term, link.utm_content,
           link.forward_query, link.tags, link.external_id, link.extras, link.archived is true as archived,
           link.taken_down is true as taken_down, link.folded is true as folded,
           (link.domain_id is null or domain.verified_at is not null) as served, link.version::float8 as version,
           link.created_at, link.updated_at,
           counters.clicks::float8 as clicks, counters.unique_clicks::float8 as unique_clicks,
           nullif(counters.last_click_at, 'epoch') as last_click_at
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

/**
 * Finds and locks the link with an alias on a domain, of any account; `host` is null for the
 * service's own domain.
 */
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

/** Sets whether a link is taken down, and its new version. */
export async function setTakenDown(
  transaction: Transaction,
  { id, taken_down, version }: Pick<LinkRow, "id" | "taken_down" | "version">,
): Promise<void> {
  await transaction`
    update links set taken_down = ${taken_down}, version = ${version} where id = ${id}`;
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

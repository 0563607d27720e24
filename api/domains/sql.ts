/** SQL statements on domains, their notices, and the links that change with them. */
import type { Uuid } from "../../shared/ids.ts";
import { toJson } from "../events/record.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, account_id, host, verification_value, created_at, verified_at, case_sensitive, switching, settings,
  missing_since`;

/** No link is created on a domain that is locked until the transaction ends. */
export const domainRows = new OwnedRows<DomainRow>("domains", columns);

export type NewDomain = AccountScope & { id: Uuid; host: string; verificationValue: string };

/**
 * Inserts a pending domain. A domain that the owner already has violates `domains_by_account`.
 * Throws `quota_exceeded` when the account has reached its maximum.
 */
export async function insertDomain(sql: Transaction, domain: NewDomain): Promise<DomainRow> {
  const [{ granted, allowed, ...row }] = await sql<[Claim & DomainRow]>`
    with quota as materialized (
      select granted, allowed from claim_quota(${domain.accountId}, ${domain.mode}, 'domains')
    ), inserted as (
      insert into domains (id, account_id, mode, host, verification_value)
      select ${domain.id}, ${domain.accountId}, ${domain.mode}, ${domain.host}, ${domain.verificationValue}
        from quota where granted
      returning ${columns(sql)}
    )
    select quota.*, inserted.* from quota left join inserted on true`;
  requireClaimed("domains", { granted, allowed });
  return row;
}

type VerifiedHost = AccountScope & { id: Uuid; caseSensitive: boolean; missingSince: Date | null };

/** Finds the verified domain with a host, of any account, by the index `domains_verified_host`. */
export async function findVerifiedHost(sql: Sql, host: string): Promise<VerifiedHost | undefined> {
  const [row] = await sql<VerifiedHost[]>`
    select id, account_id as "accountId", mode, case_sensitive as "caseSensitive",
           missing_since as "missingSince" from domains
     where host = ${host} and verified_at is not null`;
  return row;
}

/** Returns the hosts that are verified domains of any account. */
export async function findVerifiedHosts(
  sql: Sql,
  hosts: readonly string[],
): Promise<ReadonlySet<string>> {
  // A single host is compared, so that its plan is reused.
  const isOneOf =
    hosts.length === 1 ? sql`host = ${hosts[0] ?? ""}` : sql`host = any (${[...hosts]}::text[])`;
  const rows = await sql<{ host: string }[]>`
    select host from domains where ${isOneOf} and verified_at is not null`;
  return new Set(rows.map(({ host }) => host));
}

/** Returns the owner's verified domains, which a quota bounds. */
export const listVerifiedHosts = (
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<{ host: string; verifiedAt: Date }[]> =>
  sql<{ host: string; verifiedAt: Date }[]>`
    select host, verified_at as "verifiedAt" from domains
     where account_id = ${accountId} and mode = ${mode} and verified_at is not null`;

/** Hosts of the owner's domains, verified or not: the `preferred` ones first, at most `max`. */
export async function listHosts(
  sql: Sql,
  { accountId, mode }: AccountScope,
  preferred: readonly string[],
  max: number,
): Promise<string[]> {
  const rows = await sql<{ host: string }[]>`
    select host from domains
     where account_id = ${accountId} and mode = ${mode}
     order by host = any (${[...preferred]}::text[]) desc, host
     limit ${max}`;
  return rows.map(({ host }) => host);
}

/**
 * Marks a domain as verified and its earlier links as due for republishing. If another account
 * verified it first, violates `domains_verified_host`.
 */
export async function markVerified(
  sql: Sql | Transaction,
  id: Uuid,
): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    update domains
       set verified_at = coalesce(verified_at, clock_timestamp()), missing_since = null, checked_at = clock_timestamp(),
           republishing = republishing or verified_at is null and exists (
             select from links where domain_id = ${id})
     where id = ${id}
    returning ${columns(sql)}`;
  return row;
}

/** A verified domain, with its mode. */
export type VerifiedDomain = DomainRow & { mode: AccountScope["mode"] };

/** Finds and locks the verified domain with a host, of any account. */
export async function lockVerified(
  transaction: Transaction,
  host: string,
): Promise<VerifiedDomain | undefined> {
  const [row] = await transaction<VerifiedDomain[]>`
    select mode, ${columns(transaction)} from domains where host = ${host} and verified_at is not null for update`;
  return row;
}

/** Takes a domain from its account and marks its links as due for withdrawal. */
export async function markReleased(transaction: Transaction, id: Uuid): Promise<void> {
  await transaction`
    update domains
       set verified_at = null, missing_since = null, switching = false,
           republishing = exists (select from links where domain_id = ${id})
     where id = ${id}`;
}

/** A verified domain whose proof is due to be looked up. */
export type DueProof = { id: Uuid; host: string; verification_value: string };

/** Claims verified domains whose proof was last looked up more than a day ago, at most `limit`. */
export const claimDueProofs = async (sql: Sql, limit: number): Promise<DueProof[]> =>
  await sql<DueProof[]>`
    update domains set checked_at = now()
     where id in (
       select id from domains
        where verified_at is not null and coalesce(checked_at, verified_at) < now() - interval '1 day'
        order by coalesce(checked_at, verified_at) limit ${limit} for update skip locked)
    returning id, host, verification_value`;

/** Records whether a proof was found. */
export async function recordProof(sql: Sql, id: Uuid, isThere: boolean): Promise<void> {
  await sql`
    update domains set missing_since = case when ${isThere} then null else coalesce(missing_since, now()) end
     where id = ${id} and verified_at is not null`;
}

/** Schedules the next lookup of a proof in an hour. */
export async function postponeProof(sql: Sql, id: Uuid): Promise<void> {
  await sql`update domains set checked_at = now() - interval '23 hours' where id = ${id}`;
}

/** Deletes a domain; one with links violates a foreign key. */
export async function deleteDomain(sql: Sql | Transaction, id: Uuid): Promise<void> {
  await sql`delete from domains where id = ${id}`;
}

/** Writes a domain's settings and its case sensitivity. */
export async function updateDomain(
  transaction: Transaction,
  { id, settings, case_sensitive, switching }: DomainRow,
): Promise<void> {
  await transaction`
    update domains
       set settings = ${settings === null ? null : transaction.json(toJson(settings))}::jsonb,
           case_sensitive = ${case_sensitive}, switching = ${switching}
     where id = ${id}`;
}

/** Selects the next domains that have a notice (`hasNotice`), in id order. */
export const selectNoticedDomains = async (
  sql: Sql,
  after: Uuid | null,
  limit: number,
): Promise<DomainRow[]> =>
  await sql<DomainRow[]>`
    select ${columns(sql)} from domains
     where verified_at is not null and (settings is not null or not case_sensitive or switching)
       and (${after}::uuid is null or id > ${after})
     order by id limit ${limit}`;

/**
 * Finds a domain whose links must be published or withdrawn, and locks it for this process until
 * the transaction ends.
 */
export async function lockRepublishing(
  transaction: Transaction,
): Promise<{ id: Uuid; verified: boolean } | undefined> {
  const [row] = await transaction<{ id: Uuid; verified: boolean }[]>`
    with republishing as materialized (
      select id, verified_at is not null as verified from domains where republishing)
    select id, verified from republishing
     where pg_try_advisory_xact_lock(hashtextextended(id::text, 2)) limit 1`;
  return row;
}

/**
 * Records that the links are published or withdrawn, unless the domain has changed hands meanwhile.
 */
export async function finishRepublishing(sql: Sql, id: Uuid, verified: boolean): Promise<void> {
  await sql`
    update domains set republishing = false where id = ${id} and (verified_at is not null) = ${verified}`;
}

/** Counts the links on a domain, up to `max` + 1. */
export async function countLinks(transaction: Transaction, id: Uuid, max: number): Promise<number> {
  const [row] = await transaction<[{ links: number }]>`
    select count(*)::integer as links
      from (select from links where domain_id = ${id} limit ${max + 1}) counted`;
  return row.links;
}

/** Aliases of a domain that differ only in case, at most `limit` of them. */
export async function findCollisions(
  transaction: Transaction,
  id: Uuid,
  limit: number,
): Promise<string[]> {
  const rows = await transaction<{ alias: string }[]>`
    select alias from links
     where domain_id = ${id} and fold_alias(alias) in (
             select fold_alias(alias) from links where domain_id = ${id} group by fold_alias(alias) having count(*) > 1)
     order by fold_alias(alias), alias limit ${limit}`;
  return rows.map(({ alias }) => alias);
}

/** Makes the aliases of a domain's links case-insensitive or case-sensitive. */
export async function foldAliases(
  transaction: Transaction,
  id: Uuid,
  folded: boolean,
): Promise<void> {
  // Updating thousands of rows with all their indexes takes longer than the statement timeout of a
  // request.
  await transaction`set local statement_timeout = '30s'`;
  await transaction`
    update links set folded = ${folded} where domain_id = ${id} and folded is distinct from ${folded}`;
}

/**
 * Whether any domain has links to publish, by the indexes `domains_switching` and
 * `domains_republishing`.
 */
export async function hasUnpublished(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ found: boolean }]>`
    select exists (select from domains where switching) or exists (select from domains where republishing) as found`;
  return row.found;
}

/**
 * Finds a switching domain and reserves it for this process until the transaction ends. Uses no row
 * lock, which would block the creation of links.
 */
export async function lockSwitching(transaction: Transaction): Promise<Uuid | undefined> {
  const [row] = await transaction<{ id: Uuid }[]>`
    with switching as materialized (select id from domains where switching and verified_at is not null)
    select id from switching where pg_try_advisory_xact_lock(hashtextextended(id::text, 2)) limit 1`;
  return row?.id;
}

/** Records that a domain has switched. */
export async function finishSwitching(
  transaction: Transaction,
  id: Uuid,
): Promise<DomainRow | undefined> {
  const [row] = await transaction<DomainRow[]>`
    update domains set switching = false where id = ${id} returning ${columns(transaction)}`;
  return row;
}

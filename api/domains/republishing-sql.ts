/**
 * SQL statements on domains whose links change: on switching domains, and on those that changed
 * hands.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { COLUMNS } from "./sql.ts";

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
     where domain_id = ${id} and lower(alias) in (
             select lower(alias) from links where domain_id = ${id} group by lower(alias) having count(*) > 1)
     order by lower(alias), alias limit ${limit}`;
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
    update domains set switching = false where id = ${id} returning ${transaction(COLUMNS)}`;
  return row;
}

/** SQL statements on notices of domains. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { COLUMNS } from "./sql.ts";

/** Draws a version for the notice of a domain. */
export async function drawVersion(transaction: Transaction, id: Uuid): Promise<number> {
  const [row] = await transaction<[{ version: string }]>`
    with drawn as (select next_link_version() as version)
    , noted as (update domains set version = drawn.version from drawn where id = ${id})
    select version from drawn`;
  return Number(row.version);
}

/** As {@link drawVersion} for several domains, in their order. */
export async function drawVersions(
  transaction: Transaction,
  ids: readonly Uuid[],
): Promise<number[]> {
  const rows = await transaction<{ id: Uuid; version: number }[]>`
    update domains set version = next_link_version() where id = any (${[...ids]}::uuid[])
    returning id, version::float8 as version`;
  const byId = new Map(rows.map(({ id, version }) => [id, version]));
  return ids.map((id) => byId.get(id) ?? 0);
}

/** Draws a version for the notice of a host that is no longer a domain. */
export async function drawFreeVersion(transaction: Transaction): Promise<number> {
  const [row] = await transaction<[{ version: number }]>`
    select next_link_version()::float8 as version`;
  return row.version;
}

/**
 * Locks the verified domains among the hosts that have a published notice; returns their hosts.
 * Other changes of these domains wait until the transaction ends.
 */
export async function lockNoticedHosts(
  transaction: Transaction,
  hosts: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await transaction<{ host: string; noticed: boolean }[]>`
    select host, version > 0 and verified_at is not null as noticed
      from domains where host = any (${[...hosts]}::text[]) order by id for update`;
  return new Set(rows.filter(({ noticed }) => noticed).map(({ host }) => host));
}

/** Locks the next verified domains that have a published notice, in id order. */
export const lockNoticedDomains = async (
  transaction: Transaction,
  after: Uuid | null,
  limit: number,
): Promise<DomainRow[]> =>
  await transaction<DomainRow[]>`
    select ${transaction(COLUMNS)} from domains
     where version > 0 and verified_at is not null and (${after}::uuid is null or id > ${after})
     order by id limit ${limit} for update`;

/** Locks an account's domains that have a notice, in both modes; a quota bounds their number. */
export const lockNoticedDomainsOf = async (
  transaction: Transaction,
  accountId: Uuid,
): Promise<DomainRow[]> =>
  await transaction<DomainRow[]>`
    select ${transaction(COLUMNS)} from domains
     where account_id = ${accountId} and version > 0 and verified_at is not null
     order by id for update`;

/** Selects the next verified domains that have a published notice, and its version, in id order. */
export const selectNoticedDomains = async (
  sql: Sql,
  after: Uuid | null,
  limit: number,
): Promise<(DomainRow & { notice_version: number })[]> =>
  await sql<(DomainRow & { notice_version: number })[]>`
    select ${sql(COLUMNS)}, version::float8 as notice_version from domains
     where version > 0 and verified_at is not null and (${after}::uuid is null or id > ${after})
     order by id limit ${limit}`;

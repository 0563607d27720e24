/** The statements on domains. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { DomainRow } from "./model.ts";

/** Whose domains a statement may see. */
export type Owner = { accountId: Uuid; mode: Mode };

export type NewDomain = Owner & { id: Uuid; host: string; verificationValue: string };

/** Adds a domain that is to be verified. One the owner has already violates `domains_by_account`. */
export async function insertDomain(sql: Sql, domain: NewDomain): Promise<DomainRow> {
  const [row] = await sql<[DomainRow]>`
    insert into domains (id, account_id, mode, host, verification_value)
    values (${domain.id}, ${domain.accountId}, ${domain.mode}, ${domain.host}, ${domain.verificationValue})
    returning id, host, verification_value, created_at, verified_at`;
  return row;
}

/** Finds a domain by its primary key. */
export async function findDomain(
  sql: Sql,
  { accountId, mode }: Owner,
  id: Uuid,
): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    select id, host, verification_value, created_at, verified_at
      from domains where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** A page of domains, newest first. */
export async function listDomains(
  sql: Sql,
  { accountId, mode }: Owner,
  limit: number,
  offset: number,
): Promise<{ rows: DomainRow[]; total: number }> {
  const [rows, [{ total }]] = await Promise.all([
    sql<DomainRow[]>`
      select id, host, verification_value, created_at, verified_at
        from domains where account_id = ${accountId} and mode = ${mode}
       order by created_at desc, id desc limit ${limit} offset ${offset}`,
    sql<[{ total: number }]>`
      select count(*)::integer as total from domains
       where account_id = ${accountId} and mode = ${mode}`,
  ]);
  return { rows, total };
}

/** Whose verified domain a host is, by the index `domains_verified_host`; undefined for nobody's. */
export async function findVerifiedHost(
  sql: Sql,
  host: string,
): Promise<(Owner & { id: Uuid }) | undefined> {
  const [row] = await sql<(Owner & { id: Uuid })[]>`
    select id, account_id as "accountId", mode from domains
     where host = ${host} and verified_at is not null`;
  return row;
}

/** Marks a domain as proved. One that another account proved first violates `domains_verified_host`. */
export async function markVerified(sql: Sql, id: Uuid): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    update domains set verified_at = coalesce(verified_at, clock_timestamp()) where id = ${id}
    returning id, host, verification_value, created_at, verified_at`;
  return row;
}

/** Removes a domain; one with links violates a foreign key. */
export async function deleteDomain(sql: Sql, id: Uuid): Promise<void> {
  await sql`delete from domains where id = ${id}`;
}

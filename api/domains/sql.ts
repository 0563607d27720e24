/** SQL statements on domains. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import type { Sql } from "../postgres.ts";
import type { DomainRow } from "./model.ts";

export type NewDomain = AccountScope & { id: Uuid; host: string; verificationValue: string };

/**
 * Inserts a pending domain. One that the owner has already violates `domains_by_account`. Throws
 * `quota_exceeded` when the account has reached its maximum.
 */
export async function insertDomain(sql: Sql, domain: NewDomain): Promise<DomainRow> {
  const [{ granted, allowed, ...row }] = await sql<[Claim & DomainRow]>`
    with quota as materialized (
      select granted, allowed from claim_quota(${domain.accountId}, ${domain.mode}, 'domains')
    ), inserted as (
      insert into domains (id, account_id, mode, host, verification_value)
      select ${domain.id}, ${domain.accountId}, ${domain.mode}, ${domain.host}, ${domain.verificationValue}
        from quota where granted
      returning id, host, verification_value, created_at, verified_at
    )
    select quota.*, inserted.* from quota left join inserted on true`;
  requireClaimed("domains", { granted, allowed });
  return row;
}

/** Finds one of the owner's domains by its primary key. */
export async function findDomain(
  sql: Sql,
  { accountId, mode }: AccountScope,
  id: Uuid,
): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    select id, host, verification_value, created_at, verified_at
      from domains where id = ${id} and account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Returns a page of the owner's domains, newest first, and their total. */
export async function listDomains(
  sql: Sql,
  { accountId, mode }: AccountScope,
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

/** Finds the verified domain with a host, of any account, by the index `domains_verified_host`. */
export async function findVerifiedHost(
  sql: Sql,
  host: string,
): Promise<(AccountScope & { id: Uuid }) | undefined> {
  const [row] = await sql<(AccountScope & { id: Uuid })[]>`
    select id, account_id as "accountId", mode from domains
     where host = ${host} and verified_at is not null`;
  return row;
}

/** Marks a domain as verified. If another account was first, it violates `domains_verified_host`. */
export async function markVerified(sql: Sql, id: Uuid): Promise<DomainRow | undefined> {
  const [row] = await sql<DomainRow[]>`
    update domains set verified_at = coalesce(verified_at, clock_timestamp()) where id = ${id}
    returning id, host, verification_value, created_at, verified_at`;
  return row;
}

/** Deletes a domain; one with links violates a foreign key. */
export async function deleteDomain(sql: Sql, id: Uuid): Promise<void> {
  await sql`delete from domains where id = ${id}`;
}

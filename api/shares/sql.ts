/** SQL statements on shares. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Payer } from "../limits/budgets.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { ShareFields, ShareRow } from "./model.ts";

type NewShare = ShareFields & { id: Uuid; link_id: Uuid | null; token_hash: Buffer };

const columns = (sql: Sql | Transaction) => sql`
  id, link_id, name, password_hash, breakdowns, timezone, embed_origins, expires_at, created_at, updated_at`;

export const shareRows = new OwnedRows<ShareRow>("shares", columns);

/**
 * Inserts a share, or assigns it a new token if an earlier attempt of the same request has inserted
 * it; `created` says which. A deleted link violates a foreign key.
 */
export async function insertShare(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  share: NewShare,
): Promise<ShareRow & { created: boolean }> {
  const [row] = await transaction<[ShareRow & { created: boolean }]>`
    insert into shares (id, account_id, mode, link_id, name, token_hash, password_hash, breakdowns, timezone,
                        embed_origins, expires_at)
    values (${share.id}, ${accountId}, ${mode}, ${share.link_id}, ${share.name}, ${share.token_hash},
            ${share.password_hash}, ${[...share.breakdowns]}::text[], ${share.timezone},
            ${[...share.embed_origins]}::text[], ${share.expires_at})
    on conflict (id) do update set token_hash = excluded.token_hash
    returning ${columns(transaction)}, xmax = 0 as created`;
  return row;
}

/** Changes one of the owner's shares; undefined when there is none. */
export async function updateShare(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
  change: Partial<ShareFields & { token_hash: Buffer }>,
): Promise<ShareRow | undefined> {
  const [row] = await sql<ShareRow[]>`
    update shares set ${sql({ ...change, updated_at: new Date() })}
     where id = ${id} and account_id = ${accountId} and mode = ${mode}
    returning ${columns(sql)}`;
  return row;
}

/** A share with its owner, and the version of the owner's branding; null without one. */
export type SharedRow = ShareRow & AccountScope & Payer & { brand_version: number | null };

/**
 * Finds the share of a token, with its owner, unless it has expired or an operator has suspended
 * the account.
 */
export async function findSharedBy(sql: Sql, tokenHash: Buffer): Promise<SharedRow | undefined> {
  const [row] = await sql<SharedRow[]>`
    select ${columns(sql)}, account_id as "accountId", mode,
           (select plan from accounts where id = account_id) as plan,
           (select version from account_branding b where b.account_id = shares.account_id and b.mode = shares.mode) as brand_version
      from shares
     where token_hash = ${tokenHash} and (expires_at is null or expires_at > clock_timestamp())
       and not exists (select from accounts where id = account_id and suspended_until = 'infinity')`;
  return row;
}

/** SQL of API keys. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import { OwnedRows } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { KeyRow } from "./model.ts";

const columns = (sql: Sql | Transaction) => sql`
  id, account_id, name, mode, prefix, scopes, created_at, last_used_at, expires_at, revoked_at`;

export const keyRows = new OwnedRows<KeyRow>("api_keys", columns);

type NewKeyRow = Omit<KeyRow, "created_at" | "last_used_at" | "revoked_at"> & {
  lookup: string;
  secret_hash: Buffer;
};

/**
 * Inserts a key; returns undefined when its account does not exist. The key does not outlive the
 * API key `grantorId` that creates it. If `grantorId` is null or a session, only its own expiry
 * applies.
 */
export async function insertKey(
  sql: Sql | Transaction,
  key: NewKeyRow,
  grantorId: Uuid | null,
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes, expires_at)
    select ${key.id}, account.id, ${key.name}, ${key.mode}, ${key.lookup}, ${key.prefix},
           ${key.secret_hash}, ${[...key.scopes]},
           least(${key.expires_at}::timestamptz,
                 (select least(grantor.expires_at, grantor.revoked_at) from api_keys grantor where grantor.id = ${grantorId}))
      from accounts account
     where account.id = ${key.account_id}
    returning ${columns(sql)}`;
  return row;
}

/**
 * Locks the account's quota of keys until the transaction ends; throws `quota_exceeded` when it is
 * exhausted.
 */
export async function claimKey(sql: Transaction, { accountId, mode }: AccountScope): Promise<void> {
  const [claim] = await sql<[Claim]>`
    select granted, allowed from claim_quota(${accountId}, ${mode}, 'api_keys')`;
  requireClaimed("api_keys", claim);
}

/** As {@link findKey}, and locks the key until the transaction ends. */
export async function lockKey(sql: Transaction, id: Uuid): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${columns(sql)} from api_keys where id = ${id} for no key update`;
  return row;
}

/** Finds a key by its primary key. */
export async function findKey(sql: Sql, id: Uuid): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${columns(sql)} from api_keys where id = ${id}`;
  return row;
}

/**
 * Revokes a key `graceSeconds` from now, by the database's clock, as another one replaces it if
 * `replacedBy` is given. Never postpones an earlier revocation. Returns undefined when there is no
 * such key.
 */
export async function revokeKey(
  sql: Transaction,
  id: Uuid,
  graceSeconds: number,
  replacedBy: Uuid | null = null,
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    update api_keys
       set revoked_at = least(revoked_at, clock_timestamp() + make_interval(secs => ${graceSeconds})),
           replaced_by = coalesce(replaced_by, ${replacedBy})
     where id = ${id}
    returning ${columns(sql)}`;
  return row;
}

/** The statements on API keys. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { KeyRow } from "./model.ts";

export type KeyFilter = { accountId: Uuid; mode: string };

export type StoredKey = Pick<
  KeyRow,
  "id" | "account_id" | "name" | "mode" | "prefix" | "expires_at"
> & {
  lookup: string;
  secret_hash: Buffer;
  scopes: readonly string[];
};

/** Inserts a key; undefined when its account does not exist. */
export async function insertKey(sql: Sql, key: StoredKey): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes, expires_at)
    select ${key.id}, account.id, ${key.name}, ${key.mode}, ${key.lookup}, ${key.prefix},
           ${key.secret_hash}, ${[...key.scopes]}, ${key.expires_at}
      from accounts account
     where account.id = ${key.account_id}
    returning id, account_id, name, mode, prefix, scopes, created_at, last_used_at, expires_at, revoked_at`;
  return row;
}

/** Finds a key by its primary key. */
export async function findKey(sql: Sql, id: Uuid): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select id, account_id, name, mode, prefix, scopes, created_at, last_used_at, expires_at, revoked_at
      from api_keys where id = ${id}`;
  return row;
}

/** A page of an account's keys, newest first, by the index `api_keys_by_account`. */
export async function listKeys(
  sql: Sql,
  { accountId, mode }: KeyFilter,
  limit: number,
  offset: number,
): Promise<KeyRow[]> {
  return await sql<KeyRow[]>`
    select id, account_id, name, mode, prefix, scopes, created_at, last_used_at, expires_at, revoked_at
      from api_keys
     where account_id = ${accountId} and mode = ${mode}
     order by created_at desc, id desc
     limit ${limit} offset ${offset}`;
}

export async function countKeys(sql: Sql, { accountId, mode }: KeyFilter): Promise<number> {
  const [row] = await sql<[{ total: number }]>`
    select count(*)::integer as total from api_keys where account_id = ${accountId} and mode = ${mode}`;
  return row.total;
}

/**
 * Revokes a key `graceSeconds` from now, by the database's clock. A revocation is never put off: the
 * earlier of two stands. False when there is no such key.
 */
export async function revokeKey(sql: Sql, id: Uuid, graceSeconds: number): Promise<boolean> {
  const rows = await sql`
    update api_keys
       set revoked_at = least(revoked_at, clock_timestamp() + make_interval(secs => ${graceSeconds}))
     where id = ${id} returning id`;
  return rows.length === 1;
}

/** Whether a key is there, not revoked and not expired, by the database's clock. */
export async function isKeyAlive(sql: Sql, id: Uuid): Promise<boolean> {
  const rows = await sql`
    select 1 from api_keys
     where id = ${id} and (revoked_at is null or revoked_at > now())
       and (expires_at is null or expires_at > now())`;
  return rows.length > 0;
}

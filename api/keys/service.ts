/** API keys: making and revoking them. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { generateKey } from "../auth/api-key.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Sql } from "../postgres.ts";

export type NewApiKey = { accountId: Uuid; name: string; mode: Mode; scopes: readonly Scope[] };

export function createKeyService({ sql }: { sql: Sql }) {
  /**
   * Makes a key. The value in the answer is the only time it is known: what is stored cannot give it
   * back. Undefined when the account does not exist.
   */
  async function create(key: NewApiKey): Promise<{ id: Uuid; key: string } | undefined> {
    const made = generateKey(key.mode);
    const rows = await sql<{ id: Uuid }[]>`
      insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes)
      select ${newUuid()}, account.id, ${key.name}, ${key.mode}, ${made.lookup}, ${made.prefix},
             ${made.secretHash}, ${[...key.scopes]}
        from accounts account
       where account.id = ${key.accountId}
      returning id`;
    const id = rows[0]?.id;
    return id === undefined ? undefined : { id, key: made.key };
  }

  /** Revokes a key from the next request on; false when there is none. A revoked one stays revoked. */
  async function revoke(id: Uuid): Promise<boolean> {
    const rows = await sql`
      update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp())
       where id = ${id} returning id`;
    return rows.length === 1;
  }

  return { create, revoke };
}

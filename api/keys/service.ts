/** API keys: making, listing, revoking and rotating them. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { generateKey } from "../auth/api-key.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { futureInstant } from "../http/fields.ts";
import type { Sql } from "../postgres.ts";
import type { CreateKeyBody, KeyRow } from "./model.ts";
import { countKeys, findKey, insertKey, isKeyAlive, listKeys, revokeKey } from "./sql.ts";

export type NewApiKey = {
  accountId: Uuid;
  name: string;
  mode: Mode;
  scopes: readonly string[];
  expiresAt: Date | null;
};

/** Who asks, with what they may grant. */
export type Grantor = { accountId: Uuid; mode: Mode; scopes: readonly string[] };

/** A key that was just made. Its value is known this once: what is stored cannot give it back. */
export type MadeKey = { row: KeyRow; key: string };

/** Keys of one mode that an operator is shown at once. */
const OPERATOR_LIST_MAX = 10_000;

export type KeyService = ReturnType<typeof createKeyService>;

export function createKeyService({ sql }: { sql: Sql }) {
  /** Makes a key for an account; throws `not_found` when there is none. For operators. */
  async function make(key: NewApiKey): Promise<MadeKey> {
    const made = generateKey(key.mode);
    const row = await insertKey(sql, {
      id: newUuid(),
      account_id: key.accountId,
      name: key.name,
      mode: key.mode,
      lookup: made.lookup,
      prefix: made.prefix,
      secret_hash: made.secretHash,
      scopes: [...new Set(key.scopes)],
      expires_at: key.expiresAt,
    });
    if (row === undefined) throw notFound("account");
    return { row, key: made.key };
  }

  /** Makes a key that may do no more than its maker; throws `forbidden` and `invalid_request`. */
  async function create(grantor: Grantor, body: CreateKeyBody): Promise<MadeKey> {
    if ((body.type ?? grantor.mode) !== grantor.mode) {
      throw new ApiError("forbidden", `A ${grantor.mode} key can only make ${grantor.mode} keys.`);
    }
    requireScopes(grantor, body.scopes);
    return await make({
      accountId: grantor.accountId,
      name: body.name,
      mode: grantor.mode,
      scopes: body.scopes,
      expiresAt: futureInstant("expires_at", body.expires_at, new Date()),
    });
  }

  /** Finds one of the asker's keys; throws `not_found`. */
  async function get(grantor: Grantor, id: Uuid | undefined): Promise<KeyRow> {
    const row = id === undefined ? undefined : await findKey(sql, id);
    if (row?.account_id !== grantor.accountId || row.mode !== grantor.mode) throw notFound("key");
    return row;
  }

  /** A page of the asker's keys, newest first, and how many there are. */
  async function list(grantor: Grantor, page: number, limit: number) {
    const [rows, total] = await Promise.all([
      listKeys(sql, grantor, limit, (page - 1) * limit),
      countKeys(sql, grantor),
    ]);
    return { rows, total };
  }

  /** Revokes one of the asker's keys from the next request on; a revoked one stays revoked. */
  async function revoke(grantor: Grantor, id: Uuid | undefined): Promise<void> {
    const { id: found } = await get(grantor, id);
    await revokeKey(sql, found, 0);
  }

  /** Replaces a key by a new one like it; the old one works for `graceSeconds` more. */
  async function rotate(
    grantor: Grantor,
    id: Uuid | undefined,
    graceSeconds: number,
  ): Promise<MadeKey> {
    const old = await get(grantor, id);
    requireScopes(grantor, old.scopes);
    return await replace(old, graceSeconds);
  }

  async function replace(old: KeyRow, graceSeconds: number): Promise<MadeKey> {
    if (old.revoked_at !== null) {
      throw new ApiError("invalid_request", "The key has been revoked or rotated already.");
    }
    const made = await make({
      accountId: old.account_id,
      name: old.name,
      mode: old.mode,
      scopes: old.scopes,
      expiresAt: old.expires_at,
    });
    await revokeKey(sql, old.id, graceSeconds);
    return made;
  }

  return {
    make,
    create,
    get,
    list,
    revoke,
    rotate,
    /** For operators: all keys of an account, of both modes. */
    async listAll(accountId: Uuid): Promise<KeyRow[]> {
      const modes: Mode[] = ["live", "test"];
      const pages = await Promise.all(
        modes.map((mode) => listKeys(sql, { accountId, mode }, OPERATOR_LIST_MAX, 0)),
      );
      return pages.flat();
    },
    /** Whether a key may still be used: what goes on for long asks again. */
    isAlive: ({ callerId }: { callerId: Uuid }): Promise<boolean> => isKeyAlive(sql, callerId),
    /** For operators: whosever key it is. False when there is none. */
    revokeAny: (id: Uuid): Promise<boolean> => revokeKey(sql, id, 0),
    async rotateAny(id: Uuid, graceSeconds: number): Promise<MadeKey> {
      const old = await findKey(sql, id);
      if (old === undefined) throw notFound("key");
      return await replace(old, graceSeconds);
    },
  };
}

function requireScopes(grantor: Grantor, scopes: readonly string[]): void {
  const missing = scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ApiError(
    "forbidden",
    `A key can only grant scopes it has; it lacks ${missing.join(", ")}.`,
  );
}

/** API keys: creating, listing, revoking and rotating them. */
import { SCOPES } from "../../shared/contracts/key-schemas.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { generateKey } from "../auth/api-key.ts";
import { type NewEvent, recordEvents, toJson } from "../events/record.ts";
import { futureInstant } from "../http/common-schemas.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import { type Actor, OPERATOR, type Principal } from "../http/principal.ts";
import { countOwned, missing } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type CreateKeyBody, type KeyRow, toKeyResponse } from "./model.ts";
import { claimKey, findKey, insertKey, listKeys, lockKey, revokeKey } from "./sql.ts";

type NewApiKey = {
  accountId: Uuid;
  name: string;
  mode: Mode;
  scopes: readonly string[];
  expiresAt: Date | null;
};

/** The caller, an API key or a session, with the scopes it may grant. */
export type Grantor = Omit<Principal, "plan">;

/** A new key with its value; the database stores only a hash of it. */
export type CreatedKey = { row: KeyRow; key: string };

/** Maximum keys of one mode in an operator's list. */
const OPERATOR_LIST_MAX = 10_000;

export type KeyService = ReturnType<typeof createKeyService>;

export const createKeyService = ({ sql }: { sql: Sql }) => ({
  ...createCallerOperations(sql),
  ...createOperatorOperations(sql),
});

/** What a caller does with the keys of an account. */
const createCallerOperations = (sql: Sql) => ({
  create: (grantor: Grantor, body: CreateKeyBody) => createKey(sql, grantor, body),
  get: (grantor: Grantor, id: Uuid | undefined) => getKey(sql, grantor, id),

  /** Lists the keys of the caller's account and mode, newest first. */
  list: (grantor: Grantor, request: ListRequest): Promise<ListPart<KeyRow>> =>
    readPart(
      request,
      (limit, start) => listKeys(sql, grantor, limit, start),
      () => countOwned(sql, grantor, "api_keys"),
    ),

  /**
   * Revokes a key permanently, from the next request on. Throws `forbidden` for a key with scopes
   * that the caller lacks.
   */
  async revoke(grantor: Grantor, id: Uuid | undefined): Promise<void> {
    const key = await getKey(sql, grantor, id);
    requireScopes(grantor, key.scopes);
    await revoke(sql, key, grantor.actor);
  },

  /**
   * Replaces a key by a new one with the same name and scopes, which does not outlive the caller.
   * The old key remains valid for `graceSeconds`. Throws `conflict` when another request replaces
   * it at the same time.
   */
  async rotate(grantor: Grantor, id: Uuid | undefined, graceSeconds: number): Promise<CreatedKey> {
    const old = await getKey(sql, grantor, id);
    requireScopes(grantor, old.scopes);
    return await replaceKey(sql, old, graceSeconds, grantor);
  },
});

/** What operators do with the keys of any account. */
function createOperatorOperations(sql: Sql) {
  /**
   * Creates a key for an account, without a quota; throws `not_found` when there is no such
   * account.
   */
  const createAny = (key: NewApiKey): Promise<CreatedKey> =>
    sql.begin(async (sql) => {
      const created = await add(sql, key, null);
      await recordKey(sql, OPERATOR, created.row, "key.created");
      return created;
    });

  return {
    createAny,
    /** Creates the first key of a new account, with every scope. */
    createFirst: (accountId: Uuid, mode: Mode = "live"): Promise<CreatedKey> =>
      createAny({ accountId, name: "First key", mode, scopes: SCOPES, expiresAt: null }),
    /** Lists all keys of an account, of both modes. */
    async listAll(accountId: Uuid): Promise<KeyRow[]> {
      const modes: Mode[] = ["live", "test"];
      const lists = await Promise.all(
        modes.map((mode) => listKeys(sql, { accountId, mode }, OPERATOR_LIST_MAX, { offset: 0 })),
      );
      return lists.flat();
    },
    /** Revokes a key of any account. Returns false when there is no such key. */
    async revokeAny(id: Uuid): Promise<boolean> {
      const key = await findKey(sql, id);
      if (key !== undefined) await revoke(sql, key, OPERATOR);
      return key !== undefined;
    },
    /** Rotates a key of any account. Throws `not_found`. */
    async rotateAny(id: Uuid, graceSeconds: number): Promise<CreatedKey> {
      const old = await findKey(sql, id);
      if (old === undefined) throw notFound("key");
      return await replaceKey(sql, old, graceSeconds, { callerId: null, actor: OPERATOR });
    },
  };
}

/**
 * Creates a key. It has no more scopes than its grantor, and does not outlive it. Throws
 * `forbidden`, `invalid_request` and `quota_exceeded`.
 */
async function createKey(sql: Sql, grantor: Grantor, body: CreateKeyBody): Promise<CreatedKey> {
  if ((body.type ?? grantor.mode) !== grantor.mode) {
    throw new ApiError("forbidden", `A ${grantor.mode} key can only create ${grantor.mode} keys.`);
  }
  requireScopes(grantor, body.scopes);
  const key = {
    accountId: grantor.accountId,
    name: body.name,
    mode: grantor.mode,
    scopes: body.scopes,
    expiresAt: futureInstant("expires_at", body.expires_at, new Date()),
  };
  return await sql.begin(async (sql) => {
    await claimKey(sql, grantor);
    const created = await add(sql, key, grantor.callerId);
    await recordKey(sql, grantor.actor, created.row, "key.created");
    return created;
  });
}

/** Revokes a key, and records it unless it has been revoked already. */
async function revoke(sql: Sql, { id }: KeyRow, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    const before = await lockKey(sql, id);
    const after = await revokeKey(sql, id, 0);
    if (before === undefined || after === undefined) return;
    const isRevoked = before.revoked_at !== null && before.revoked_at <= new Date();
    if (!isRevoked) await recordKey(sql, actor, after, "key.revoked");
  });
}

/** Records what happened to a key; of a rotation, the new key and the one it replaces. */
async function recordKey(
  sql: Transaction,
  actor: Actor,
  row: KeyRow,
  type: "key.created" | "key.rotated" | "key.revoked",
  replaced?: KeyRow,
): Promise<void> {
  const { last_used_at: _, ...key } = toKeyResponse(row);
  const event: NewEvent = {
    type,
    objectId: row.id,
    data: toJson({
      key,
      ...(replaced === undefined ? {} : { replaces: toKeyResponse(replaced).id }),
    }),
  };
  await recordEvents(sql, { accountId: row.account_id, mode: row.mode, actor }, [event]);
}

/** Finds a key of the caller's account and mode; throws `not_found`. */
async function getKey(sql: Sql, grantor: Grantor, id: Uuid | undefined): Promise<KeyRow> {
  const row = id === undefined ? undefined : await findKey(sql, id);
  if (row?.account_id !== grantor.accountId || row.mode !== grantor.mode)
    throw await missing(sql, grantor, "api_keys", id);
  return row;
}

async function replaceKey(
  sql: Sql,
  old: KeyRow,
  graceSeconds: number,
  grantor: { callerId: Uuid | null; actor: Actor },
): Promise<CreatedKey> {
  if (old.revoked_at !== null) {
    throw new ApiError("invalid_request", "The key has been revoked or rotated already.");
  }
  const key = {
    accountId: old.account_id,
    name: old.name,
    mode: old.mode,
    scopes: old.scopes,
    expiresAt: old.expires_at,
  };
  return await sql.begin(async (sql) => {
    const current = await lockKey(sql, old.id);
    if (current?.revoked_at !== null) {
      throw new ApiError("conflict", "The key was revoked or rotated by another request just now.");
    }
    // Before the old key is revoked: it may be the caller, which must still be valid to grant.
    const created = await add(sql, key, grantor.callerId);
    await revokeKey(sql, old.id, graceSeconds, created.row.id);
    await recordKey(sql, grantor.actor, created.row, "key.rotated", old);
    return created;
  });
}

function requireScopes(grantor: Grantor, scopes: readonly string[]): void {
  const missing = scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (missing.length === 0) return;
  throw new ApiError(
    "forbidden",
    `Only who has all scopes of a key may grant, rotate or revoke it; ${missing.join(", ")} is missing.`,
  );
}

/**
 * Adds a key that does not outlive the key `grantorId`; throws `not_found` when there is no such
 * account.
 */
async function add(
  sql: Sql | Transaction,
  key: NewApiKey,
  grantorId: Uuid | null,
): Promise<CreatedKey> {
  const generated = generateKey(key.mode);
  const stored = {
    id: newUuid(),
    account_id: key.accountId,
    name: key.name,
    mode: key.mode,
    lookup: generated.lookup,
    prefix: generated.prefix,
    secret_hash: generated.secretHash,
    scopes: [...new Set(key.scopes)],
    expires_at: key.expiresAt,
  };
  const row = await insertKey(sql, stored, grantorId);
  if (row === undefined) throw notFound("account");
  return { row, key: generated.key };
}

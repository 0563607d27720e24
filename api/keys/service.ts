/** API keys: creating, listing, revoking and rotating them. */
import * as z from "zod";

import { normalizeBlock } from "../../shared/addresses.ts";
import { component } from "../../shared/contracts/components.ts";
import { CREATED_AT, KEY_ID } from "../../shared/contracts/examples.ts";
import {
  allowedNetworksMeta,
  keyNameMeta,
  type newKeyBody,
  type rotateKeyBody,
  SCOPES,
  scopesMeta,
} from "../../shared/contracts/key-schemas.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { generateKey } from "../auth/api-key.ts";
import { actorSchema } from "../events/model.ts";
import { actorJson, type NewEvent, recordEvents, toJson } from "../events/record.ts";
import {
  choice,
  createdAt,
  expiresAt,
  futureInstant,
  idInPath,
  instantOrNull,
  text,
} from "../http/common-schemas.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { listOf } from "../http/pagination.ts";
import { type AccountScope, type Actor, OPERATOR, type Principal } from "../http/principal.ts";
import { type Claim, requireClaimed } from "../limits/quotas.ts";
import { OwnedRows, OwnedService } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";

// Request and response bodies of API keys. Only the response that creates a key contains its value.

type CreateKeyBody = z.output<typeof newKeyBody>;

type RotateKeyBody = z.output<typeof rotateKeyBody>;

export const keyParams = z.object({
  id: idInPath("key", "The key's id, not its value.", KEY_ID),
});

export const keyResponse = component("ApiKey", "An API key without its value.", {
  id: text("The key's id, for the paths of this API.", KEY_ID),
  name: z.string().meta(keyNameMeta),
  type: choice("`live` for real data, `test` for development.", ["live", "test"]),
  prefix: text("The beginning of the key, to recognise it by.", "sk_live_4fTq"),
  scopes: z.array(z.string()).meta(scopesMeta),
  allowed_networks: z.array(z.string()).meta(allowedNetworksMeta),
  created_at: createdAt,
  created_by: actorSchema.meta({
    description: "Who created it: a user, another key, or the operator.",
  }),
  last_used_at: instantOrNull(
    "When the key was last used, to within a minute; null for never.",
    CREATED_AT,
  ),
  last_used_network: text(
    "The network from which it was used then: an IPv4 /24, or an IPv6 /48; null for never.",
    "203.0.113.0/24",
  ).nullable(),
  expires_at: expiresAt,
  revoked_at: instantOrNull("When the key was revoked; null for a valid one.", null),
});

export const newKeyResponse = keyResponse
  .extend({
    key: text("The key itself. Only this response contains it: store it now.", "sk_live_4fTq…"),
  })
  .meta({ id: "ApiKeyWithValue", description: "A new API key, with its value." });

export const keyListResponse = listOf("KeyList", "A page of API keys.", keyResponse);

/** A key as PostgreSQL stores it. */
type KeyRow = {
  id: Uuid;
  account_id: Uuid;
  name: string;
  mode: Mode;
  prefix: string;
  scopes: string[];
  allowed_networks: string[];
  created_at: Date;
  created_by: z.output<typeof actorSchema>;
  last_used_at: Date | null;
  last_used_network: string | null;
  expires_at: Date | null;
  revoked_at: Date | null;
};

export const toKeyResponse = (row: KeyRow): z.output<typeof keyResponse> => ({
  id: encodeId("key", row.id),
  name: row.name,
  type: row.mode,
  prefix: row.prefix,
  scopes: row.scopes,
  allowed_networks: row.allowed_networks,
  created_at: row.created_at.toISOString(),
  created_by: row.created_by,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  last_used_network: row.last_used_network,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});

type NewApiKey = {
  accountId: Uuid;
  name: string;
  mode: Mode;
  scopes: readonly string[];
  expiresAt: Date | null;
  allowedNetworks?: readonly string[];
};

/** The caller, an API key or a session, with the scopes it may grant. */
export type Grantor = Omit<Principal, "plan">;

/** Who creates a key: `callerId` is the key or session, null for the operator. */
type Creator = { callerId: Uuid | null; actor: Actor };

const BY_OPERATOR: Creator = { callerId: null, actor: OPERATOR };

/** A new key with its value; the database stores only a hash of it. */
export type CreatedKey = { row: KeyRow; key: string };

/** Maximum keys of one mode in an operator's list. */
const OPERATOR_LIST_MAX = 10_000;

export class KeyService extends OwnedService<KeyRow> {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    super(sql, keyRows);
    this.#sql = sql;
  }

  /**
   * Creates a key. It has no more scopes than its grantor, and does not outlive it. Throws
   * `forbidden`, `invalid_request` and `quota_exceeded`.
   */
  async create(grantor: Grantor, body: CreateKeyBody): Promise<CreatedKey> {
    if ((body.type ?? grantor.mode) !== grantor.mode) {
      throw new ApiError(
        "forbidden",
        `A ${grantor.mode} key can only create ${grantor.mode} keys.`,
      );
    }
    requireScopes(grantor, body.scopes);
    const key = {
      accountId: grantor.accountId,
      name: body.name,
      mode: grantor.mode,
      scopes: body.scopes,
      expiresAt: futureInstant("expires_at", body.expires_at, new Date()),
      allowedNetworks: body.allowed_networks,
    };
    return await this.#sql.begin(async (sql) => {
      await claimKey(sql, grantor);
      const created = await add(sql, key, grantor);
      await recordKey(sql, grantor.actor, created.row, "key.created");
      return created;
    });
  }

  /**
   * Revokes a key permanently, from the next request on. Throws `forbidden` for a key with scopes
   * that the caller lacks.
   */
  async revoke(grantor: Grantor, id: Uuid | undefined): Promise<void> {
    const key = await this.get(grantor, id);
    requireScopes(grantor, key.scopes);
    await this.#sql.begin((sql) => revokeLive(sql, key.id, grantor.actor));
  }

  /**
   * Replaces a key by a new one with the same name and scopes, which does not outlive the caller.
   * The old key remains valid for its grace. Throws `conflict` when another request replaces
   * it at the same time.
   */
  async rotate(grantor: Grantor, id: Uuid | undefined, body: RotateKeyBody): Promise<CreatedKey> {
    const old = await this.get(grantor, id);
    requireScopes(grantor, old.scopes);
    return await this.#replace(old, body, grantor);
  }

  /**
   * For operators: creates a key for an account, without a quota; throws `not_found` when there is
   * no such account.
   */
  createAny(key: NewApiKey): Promise<CreatedKey> {
    return this.#sql.begin(async (sql) => {
      const created = await add(sql, key, BY_OPERATOR);
      await recordKey(sql, OPERATOR, created.row, "key.created");
      return created;
    });
  }

  /** For operators: creates the first key of a new account, with every scope. */
  createFirst(accountId: Uuid, mode: Mode = "live"): Promise<CreatedKey> {
    return this.createAny({ accountId, name: "First key", mode, scopes: SCOPES, expiresAt: null });
  }

  /** For operators: lists all keys of an account, of both modes. */
  async listAll(accountId: Uuid): Promise<KeyRow[]> {
    const modes: Mode[] = ["live", "test"];
    const start = { offset: 0 };
    const lists = await Promise.all(
      modes.map((mode) =>
        keyRows.listFrom(this.#sql, { accountId, mode }, OPERATOR_LIST_MAX, start),
      ),
    );
    return lists.flat();
  }

  /** For operators: revokes a key of any account. Returns false when there is no such key. */
  async revokeAny(id: Uuid): Promise<boolean> {
    const key = await findKey(this.#sql, id);
    if (key !== undefined) await this.#sql.begin((sql) => revokeLive(sql, key.id, OPERATOR));
    return key !== undefined;
  }

  /** For operators: rotates a key of any account. Throws `not_found`. */
  async rotateAny(id: Uuid, graceSeconds: number): Promise<CreatedKey> {
    const old = await findKey(this.#sql, id);
    if (old === undefined) throw notFound("key");
    return await this.#replace(old, { grace_seconds: graceSeconds }, BY_OPERATOR);
  }

  async #replace(
    old: KeyRow,
    { grace_seconds: graceSeconds, allowed_networks: allowedNetworks }: RotateKeyBody,
    grantor: Creator,
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
      allowedNetworks: allowedNetworks ?? old.allowed_networks,
    };
    return await this.#sql.begin(async (sql) => {
      const current = await findKey(sql, old.id, true);
      if (current?.revoked_at !== null) {
        throw new ApiError(
          "conflict",
          "The key was revoked or rotated by another request just now.",
        );
      }
      // Before the old key is revoked: it may be the caller, which must still be valid to grant.
      const created = await add(sql, key, grantor);
      await revokeKey(sql, old.id, graceSeconds, created.row.id);
      const details = { replaces: encodeId("key", old.id) };
      await recordKey(sql, grantor.actor, created.row, "key.rotated", details);
      return created;
    });
  }
}

/**
 * Revokes a key, and records it, with further details, unless it has been revoked already. Returns
 * whether it had not.
 */
export async function revokeLive(
  sql: Transaction,
  id: Uuid,
  actor: Actor,
  details = {},
): Promise<boolean> {
  const before = await findKey(sql, id, true);
  const after = await revokeKey(sql, id, 0);
  if (before === undefined || after === undefined) return false;
  if (before.revoked_at !== null && before.revoked_at <= new Date()) return false;
  await recordKey(sql, actor, after, "key.revoked", details);
  return true;
}

/** Records what happened to a key, with further details. */
async function recordKey(
  sql: Transaction,
  actor: Actor,
  row: KeyRow,
  type: "key.created" | "key.rotated" | "key.revoked",
  details = {},
): Promise<void> {
  const { last_used_at: _at, last_used_network: _network, ...key } = toKeyResponse(row);
  const event: NewEvent = {
    type,
    objectId: row.id,
    data: toJson({ key, ...details }),
  };
  await recordEvents(sql, { accountId: row.account_id, mode: row.mode, actor }, [event]);
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
 * Adds a key that neither outlives the key that creates it nor works where that one does not;
 * throws `forbidden`, `invalid_request`, and `not_found` when there is no such account.
 */
async function add(
  sql: Sql | Transaction,
  key: NewApiKey,
  { callerId, actor }: Creator,
): Promise<CreatedKey> {
  const wanted = normalizeNetworks(key.allowedNetworks ?? []);
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
    allowed_networks: await grantNetworks(sql, wanted, callerId),
    created_by: actorJson(actor),
    expires_at: key.expiresAt,
  };
  const row = await insertKey(sql, stored, callerId);
  if (row === undefined) throw notFound("account");
  return { row, key: generated.key };
}

const normalizeNetworks = (networks: readonly string[]): string[] => [
  ...new Set(
    networks.map((network, i) => {
      const normalized = normalizeBlock(network);
      if (normalized !== undefined) return normalized;
      throw invalidField(
        `allowed_networks.${i}`,
        "must be an IP address or a CIDR block, such as 203.0.113.0/24",
      );
    }),
  ),
];

/**
 * The networks of a new key: those wanted, which must lie in those of the API key `grantorId`, or
 * else all of these. Throws `forbidden`.
 */
async function grantNetworks(
  sql: Sql | Transaction,
  wanted: string[],
  grantorId: Uuid | null,
): Promise<string[]> {
  const [grantor] = await sql<{ networks: string[]; contains: boolean }[]>`
    select allowed_networks as networks,
           not exists (select from unnest(${wanted}::inet[]) wanted
                        where not wanted <<= any (allowed_networks::inet[])) as contains
      from api_keys where id = ${grantorId}`;
  if (grantor === undefined || grantor.networks.length === 0) return wanted;
  if (wanted.length === 0) return grantor.networks;
  if (grantor.contains) return wanted;
  throw new ApiError(
    "forbidden",
    "A key can only allow networks that lie in those of its creator.",
  );
}

const columns = (sql: Sql | Transaction) => sql`
  id, account_id, name, mode, prefix, scopes, allowed_networks, created_at, created_by, last_used_at,
  last_used_network, expires_at, revoked_at`;

const keyRows = new OwnedRows<KeyRow>("api_keys", columns);

type NewKeyRow = Omit<
  KeyRow,
  "created_at" | "last_used_at" | "last_used_network" | "revoked_at"
> & {
  lookup: string;
  secret_hash: Buffer;
};

/**
 * Inserts a key; returns undefined when its account does not exist. The key does not outlive the
 * API key `grantorId` that creates it. If `grantorId` is null or a session, only its own expiry
 * applies.
 */
async function insertKey(
  sql: Sql | Transaction,
  key: NewKeyRow,
  grantorId: Uuid | null,
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes,
                          allowed_networks, created_by, expires_at)
    select ${key.id}, account.id, ${key.name}, ${key.mode}, ${key.lookup}, ${key.prefix},
           ${key.secret_hash}, ${[...key.scopes]}, ${key.allowed_networks}, ${sql.json(key.created_by)},
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
async function claimKey(sql: Transaction, { accountId, mode }: AccountScope): Promise<void> {
  const [claim] = await sql<[Claim]>`
    select granted, allowed from claim_quota(${accountId}, ${mode}, 'api_keys')`;
  requireClaimed("api_keys", claim);
}

/** Finds a key of any account, and may lock it until the transaction ends. */
async function findKey(
  sql: Sql | Transaction,
  id: Uuid,
  isLocked = false,
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${columns(sql)} from api_keys where id = ${id} ${isLocked ? sql`for no key update` : sql``}`;
  return row;
}

/**
 * Revokes a key `graceSeconds` from now, by the database's clock, as another one replaces it if
 * `replacedBy` is given. Never postpones an earlier revocation. Returns undefined when there is no
 * such key.
 */
async function revokeKey(
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

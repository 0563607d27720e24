/**
 * Idempotency of creating requests: a retry with the same `Idempotency-Key` and the same body
 * within 24 hours gets the first response, and creates nothing.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
} from "node:crypto";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, type ErrorCode, type ErrorDetail } from "../http/errors.ts";
import type { AccountScope, Principal } from "../http/principal.ts";
import type { ResponseSettings } from "../http/request-context.ts";
import type { Sql } from "../postgres.ts";

/** Errors that depend on the time rather than on the request: a retry is executed again. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set(["rate_limited", "quota_exceeded"]);

/** A request that fails validation has no result: a corrected one may use the same key. */
const INVALID: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "invalid_url",
  "invalid_alias",
]);

const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

type IdempotentRequest = {
  principal: Principal;
  request: Request;
  /** The body after validation. */
  body: unknown;
  set: ResponseSettings;
};

/** Creates a resource of this id for the caller. */
export type Work<Body> = (principal: Principal, id: Uuid) => Promise<Result<Body>>;

/** The response of a creating request. */
type Result<Body> = { status: 200 | 201; headers?: Record<string, string>; body: Body };

/** The result of a request that has added a resource to a list, which is at `path`. */
export const created = <Body extends { id: string }>(path: string, body: Body) => ({
  status: 201 as const,
  headers: { location: `${path}/${body.id}` },
  body,
});

type StoredResult<Body> =
  | Result<Body>
  | {
      problem: {
        code: ErrorCode;
        message: string;
        param: string | undefined;
        details: readonly ErrorDetail[] | undefined;
      };
    };

/** Executes creating requests at most once. */
export class Idempotency {
  readonly #store: PostgresRequests;

  constructor(store: PostgresRequests) {
    this.#store = store;
  }

  /**
   * Executes `work`, or replays its stored result. A `secret` result must not be readable in the
   * database while it is stored: it is replayed only to the API key or session that made the
   * request. Throws `idempotency_conflict` and `idempotency_in_progress`.
   */
  async run<Body>(
    context: IdempotentRequest,
    kind: "plain" | "secret",
    work: Work<Body>,
  ): Promise<Body> {
    const { principal } = context;
    const key = context.request.headers.get("idempotency-key");
    if (key === null) return applyResult(context, await work(principal, newUuid()));
    if (!KEY_FORM.test(key)) {
      throw new ApiError(
        "invalid_request",
        "Invalid value for the header Idempotency-Key: 1 to 255 visible ASCII characters.",
      );
    }
    const request = hashRequest(context, key);
    const passphrase = kind === "plain" ? key : `${key}\n${callerSecret(context)}`;
    const lease = await this.#store.claim(request, newUuid());
    if (lease.claimed) {
      return await this.#execute(context, request, passphrase, () =>
        work(principal, lease.resource_id),
      );
    }
    if (!Buffer.from(lease.request_hash).equals(request.requestHash)) throw conflict();
    if (lease.result === null) throw inProgress();
    const text = decrypt(passphrase, lease.result);
    if (text === undefined) throw conflict();
    // This code wrote it for the same route: the hash covers method and path.
    const stored: StoredResult<Body> = JSON.parse(text);
    return replay(context, stored);
  }

  async #execute<Body>(
    context: IdempotentRequest,
    request: StoredRequest,
    passphrase: string,
    work: () => Promise<Result<Body>>,
  ): Promise<Body> {
    const save = (result: StoredResult<Body>) =>
      this.#store.save(request, encrypt(passphrase, JSON.stringify(result)));
    try {
      const result = await work();
      await save(result);
      return applyResult(context, result);
    } catch (error) {
      // Stores an error that a retry would meet again as the result; after any other error, a retry
      // may succeed.
      if (error instanceof ApiError && INVALID.has(error.reason)) {
        await this.#store.forget(request).catch(() => undefined);
      } else if (error instanceof ApiError && error.status < 500 && !RETRYABLE.has(error.reason)) {
        const { reason: code, message, param, details } = error;
        await save({ problem: { code, message, param, details } });
      } else {
        await this.#store.release(request).catch(() => undefined);
      }
      throw error;
    }
  }
}

/** Responds as the first request did; throws the error that it ended with. */
function replay<Body>(context: IdempotentRequest, stored: StoredResult<Body>): Body {
  context.set.headers["idempotent-replayed"] = "true";
  if (!("problem" in stored)) return applyResult(context, stored);
  const { code, message, ...options } = stored.problem;
  throw new ApiError(code, message, options);
}

/** A secret of this caller: its API key, or the id of its session, which no response contains. */
const callerSecret = ({ request, principal }: IdempotentRequest): string =>
  request.headers.get("authorization") ?? principal.callerId;

function applyResult<Body>(
  { set }: IdempotentRequest,
  { status, headers, body }: Result<Body>,
): Body {
  set.status = status;
  Object.assign(set.headers, headers);
  return body;
}

/**
 * Hashes the body keyed with the client's secret: a plain hash would help to guess a password in
 * the body.
 */
function hashRequest({ principal, request, body }: IdempotentRequest, key: string) {
  const { accountId, mode } = principal;
  const content = JSON.stringify([request.method, new URL(request.url).pathname, body]);
  return {
    accountId,
    mode,
    keyHash: createHash("sha256").update(key).digest(),
    requestHash: createHmac("sha256", key).update(content).digest(),
  };
}

const conflict = (): ApiError =>
  new ApiError(
    "idempotency_conflict",
    "This Idempotency-Key has been used with another request. Use a new one.",
  );

const inProgress = (): ApiError =>
  new ApiError(
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still in progress.",
    { headers: { "retry-after": "1" } },
  );

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a stored result, so that access to the database does not reveal it: the key is derived
 * from a secret that only the client's request contains. AES-256-GCM under a key derived by
 * HKDF-SHA256 (RFC 5869). Returns nonce, tag and ciphertext.
 */
export function encrypt(secret: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, deriveKey(secret), nonce);
  const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Decrypts the output of {@link encrypt}; returns undefined when the secret is a different one. */
export function decrypt(secret: string, bytes: Uint8Array): string | undefined {
  const textStart = NONCE_BYTES + TAG_BYTES;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, deriveKey(secret), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, textStart));
  try {
    return decipher.update(bytes.subarray(textStart), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

const deriveKey = (secret: string): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, "", "shorthop idempotent answer", 32));

/** An idempotent request as it is stored: its account, and hashes of its key and of its content. */
export type StoredRequest = AccountScope & { keyHash: Uint8Array; requestHash: Uint8Array };

type LeaseResult = {
  /** Whether the caller now holds the lease and must execute the request. */
  claimed: boolean;
  resource_id: Uuid;
  request_hash: Uint8Array;
  /** The stored result, encrypted; null while the request is being executed. */
  result: Uint8Array | null;
};

/** How long a stored result is replayed. */
export const TTL_HOURS = 24;

/** How long a request may run before a retry takes over its lease. */
const LEASE_SECONDS = 60;

/** Stores idempotent requests and their results in PostgreSQL, shared by all processes. */
export class PostgresRequests {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Leases a request that is new or expired, or whose lease has expired without a result; a
   * takeover keeps the id of the resource being created. Returns the stored request when it cannot
   * be leased.
   */
  async claim(
    { accountId, mode, keyHash, requestHash }: StoredRequest,
    resourceId: Uuid,
  ): Promise<LeaseResult> {
    const sql = this.#sql;
    const [claimed] = await sql<Omit<LeaseResult, "claimed">[]>`
      insert into idempotency_keys as known
             (account_id, mode, key_hash, request_hash, resource_id, claimed_until)
      values (${accountId}, ${mode}, ${keyHash}, ${requestHash}, ${resourceId},
              clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))
      on conflict (account_id, mode, key_hash) do update
         set request_hash = excluded.request_hash, claimed_until = excluded.claimed_until, answer = null,
             created_at = excluded.created_at,
             resource_id = case when known.created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})
                                then excluded.resource_id else known.resource_id end
       where known.created_at < clock_timestamp() - make_interval(hours => ${TTL_HOURS})
          or (known.answer is null and known.claimed_until < clock_timestamp()
              and known.request_hash = excluded.request_hash)
      returning resource_id, request_hash, answer as result`;
    if (claimed !== undefined) return { claimed: true, ...claimed };
    const [stored] = await sql<Omit<LeaseResult, "claimed">[]>`
      select resource_id, request_hash, answer as result from idempotency_keys
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
    if (stored === undefined) throw new Error("An idempotent request vanished.");
    return { claimed: false, ...stored };
  }

  async save({ accountId, mode, keyHash }: StoredRequest, result: Uint8Array): Promise<void> {
    await this.#sql`
      update idempotency_keys set answer = ${result}
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  }

  /** Ends the lease, so that a retry can take over the request at once. */
  async release({ accountId, mode, keyHash }: StoredRequest): Promise<void> {
    await this.#sql`
      update idempotency_keys set claimed_until = '-infinity'
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  }

  /** Deletes a leased request, so that another one can use its key. */
  async forget({ accountId, mode, keyHash, requestHash }: StoredRequest): Promise<void> {
    await this.#sql`
      delete from idempotency_keys
       where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}
         and request_hash = ${requestHash} and answer is null`;
  }
}

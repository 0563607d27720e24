/**
 * Idempotency of creating requests: a retry with the same `Idempotency-Key` and the same body
 * within 24 hours gets the first response, and creates nothing.
 */
import { createHash, createHmac } from "node:crypto";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, type ApiErrorOptions, type ErrorCode } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";
import { decrypt, encrypt } from "./encryption.ts";
import type { IdempotencyStore, StoredRequest } from "./sql.ts";

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
  set: { status?: number | string; headers: Record<string, string | number> };
};

/** The response of a creating request. */
type Result<Body> = { status: 200 | 201; headers?: Record<string, string>; body: Body };

type StoredResult<Body> =
  | Result<Body>
  | {
      problem: { code: ErrorCode; message: string } & Pick<ApiErrorOptions, "param" | "details">;
    };

type Options = {
  /**
   * The response holds a secret: it is replayed only to the API key or session that made the
   * request.
   */
  secret?: boolean;
};

export type Idempotent = ReturnType<typeof createIdempotent>;

export function createIdempotent(store: IdempotencyStore) {
  /**
   * Executes `work`, which receives the id of the resource to create, or replays its stored result.
   * Throws `idempotency_conflict` and `idempotency_in_progress`.
   */
  return async function idempotent<Body>(
    context: IdempotentRequest,
    work: (id: Uuid) => Promise<Result<Body>>,
    { secret = false }: Options = {},
  ): Promise<Body> {
    const key = context.request.headers.get("idempotency-key");
    if (key === null) return applyResult(context, await work(newUuid()));
    if (!KEY_FORM.test(key)) {
      throw new ApiError(
        "invalid_request",
        "Invalid value for the header Idempotency-Key: 1 to 255 visible ASCII characters.",
      );
    }
    const request = hashRequest(context, key);
    const passphrase = secret ? `${key}\n${callerSecret(context)}` : key;
    const lease = await store.claim(request, newUuid());
    if (lease.claimed) {
      return await execute(context, request, passphrase, () => work(lease.resource_id));
    }
    if (!Buffer.from(lease.request_hash).equals(request.requestHash)) throw conflict();
    if (lease.result === null) throw inProgress();
    const text = decrypt(passphrase, lease.result);
    if (text === undefined) throw conflict();
    // This code wrote it for the same route: the hash covers method and path.
    const stored: StoredResult<Body> = JSON.parse(text);
    context.set.headers["idempotent-replayed"] = "true";
    if ("problem" in stored) {
      const { code, message, ...options } = stored.problem;
      throw new ApiError(code, message, options);
    }
    return applyResult(context, stored);
  };

  async function execute<Body>(
    context: IdempotentRequest,
    request: StoredRequest,
    passphrase: string,
    work: () => Promise<Result<Body>>,
  ): Promise<Body> {
    const save = (result: StoredResult<Body>) =>
      store.save(request, encrypt(passphrase, JSON.stringify(result)));
    try {
      const result = await work();
      await save(result);
      return applyResult(context, result);
    } catch (error) {
      // Stores an error that a retry would meet again as the result; after any other error, a retry
      // may succeed.
      if (error instanceof ApiError && INVALID.has(error.reason)) {
        await store.forget(request).catch(() => undefined);
      } else if (error instanceof ApiError && error.status < 500 && !RETRYABLE.has(error.reason)) {
        const { reason: code, message, param, details } = error;
        await save({ problem: { code, message, param, details } });
      } else {
        await store.release(request).catch(() => undefined);
      }
      throw error;
    }
  }
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

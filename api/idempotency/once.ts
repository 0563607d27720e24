/**
 * Lets a client repeat a request that creates something without creating it twice: the same
 * `Idempotency-Key` and the same body within 24 hours get the first answer.
 */
import { createHash, createHmac } from "node:crypto";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Principal } from "../auth/authorize.ts";
import { ApiError, type ErrorCode } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import { seal, unseal } from "./sealing.ts";
import { claimRequest, releaseRequest, type Request as KnownRequest, saveAnswer } from "./sql.ts";

export { forgetRequests } from "./sql.ts";

const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

type Asked = {
  principal: Principal;
  request: Request;
  /** The body after validation. */
  body: unknown;
  set: { status?: number | string; headers: Record<string, string | number> };
};

/** What a creation answers. */
type Made<Answer> = { status: 200 | 201; headers?: Record<string, string>; answer: Answer };

type Kept<Answer> = Made<Answer> | { problem: { code: ErrorCode; message: string } };

type Options = {
  /** The answer holds a secret: only the very API key or session that asked may have it again. */
  secret?: boolean;
};

export type Once = ReturnType<typeof createOnce>;

export function createOnce(sql: Sql) {
  /**
   * Answers by `work`, which gets the id of what it is to make; or by what it answered before. Throws
   * `idempotency_conflict` and `idempotency_in_progress`.
   */
  return async function once<Answer>(
    asked: Asked,
    work: (id: Uuid) => Promise<Made<Answer>>,
    { secret = false }: Options = {},
  ): Promise<Answer> {
    const key = asked.request.headers.get("idempotency-key");
    if (key === null) return apply(asked, await work(newUuid()));
    if (!KEY_FORM.test(key)) {
      throw new ApiError(
        "invalid_request",
        "Invalid value for the header Idempotency-Key: 1 to 255 visible ASCII characters.",
      );
    }
    const request = describe(asked, key);
    const sealedFor = secret ? `${key}\n${secretOf(asked)}` : key;
    const known = await claimRequest(sql, request, newUuid());
    if (known.claimed) return await run(asked, request, sealedFor, () => work(known.resource_id));
    if (!Buffer.from(known.request_hash).equals(request.requestHash)) throw conflict();
    if (known.answer === null) throw inProgress();
    const text = unseal(sealedFor, known.answer);
    if (text === undefined) throw conflict();
    // Ours, and of this very route: the hash covers method and path.
    const kept: Kept<Answer> = JSON.parse(text);
    asked.set.headers["idempotent-replayed"] = "true";
    if ("problem" in kept) throw new ApiError(kept.problem.code, kept.problem.message);
    return apply(asked, kept);
  };

  async function run<Answer>(
    asked: Asked,
    request: KnownRequest,
    sealedFor: string,
    work: () => Promise<Made<Answer>>,
  ): Promise<Answer> {
    const keep = (kept: Kept<Answer>) =>
      saveAnswer(sql, request, seal(sealedFor, JSON.stringify(kept)));
    try {
      const made = await work();
      await keep(made);
      return apply(asked, made);
    } catch (error) {
      // A refusal that would be the same again is the answer; anything else may go well next time.
      if (error instanceof ApiError && error.status < 500 && error.reason !== "rate_limited") {
        await keep({ problem: { code: error.reason, message: error.message } });
      } else {
        await releaseRequest(sql, request).catch(() => undefined);
      }
      throw error;
    }
  }
}

/** What only this caller has: its API key, or its session, which is not written into any answer. */
const secretOf = ({ request, principal }: Asked): string =>
  request.headers.get("authorization") ?? principal.callerId;

function apply<Answer>({ set }: Asked, { status, headers, answer }: Made<Answer>): Answer {
  set.status = status;
  Object.assign(set.headers, headers);
  return answer;
}

/** The body is hashed under the client's key: a plain hash would help to guess a password in it. */
function describe({ principal, request, body }: Asked, key: string) {
  const { accountId, mode } = principal;
  const what = JSON.stringify([request.method, new URL(request.url).pathname, body]);
  return {
    accountId,
    mode,
    keyHash: createHash("sha256").update(key).digest(),
    requestHash: createHmac("sha256", key).update(what).digest(),
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
    "The first request with this Idempotency-Key is still being answered.",
    { headers: { "retry-after": "1" } },
  );

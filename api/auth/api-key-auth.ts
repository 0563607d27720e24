/** Authenticates callers by API key, and consumes from the rate limits of the key's account. */
import { LRUCache } from "lru-cache";

import { ApiError } from "../http/errors.ts";
import {
  exhausted,
  inSeconds,
  mostConstrained,
  rateLimited,
  rateLimitHeaders,
  secondsUntil,
} from "../http/rate-limit.ts";
import type { Call } from "../http/request-context.ts";
import type { NetworkWindow } from "../limits/windows.ts";
import type { AccessRule } from "./access-rules.ts";
import { type KeyParts, parseKey } from "./api-key.ts";
import type { AuthorizationResult } from "./authorize.ts";
import type { Authorize } from "./authorizer.ts";
import { isRejectedEverywhere, type KeyLimits } from "./key-limits.ts";
import type { Authenticator } from "./plugin.ts";
import type { RejectionCache } from "./rejection-cache.ts";

type ApiKeyAuthDeps = {
  authorize: Authorize;
  anonymousLimit: NetworkWindow;
  unknownKeyLimit: NetworkWindow;
  refusedKeyLimit: NetworkWindow;
  verifiedKeys: VerifiedKeys;
  keyLimits: KeyLimits;
  rejections: RejectionCache;
};

/** How long a key counts as recently verified, and how many such keys are stored. */
const VERIFIED_MS = 15 * 60_000;
const VERIFIED_MAX = 50_000;

/** Recently verified keys, by the whole key. The limit of their address never rejects them. */
export type VerifiedKeys = {
  add(id: string): void;
  /** Notes that a key no longer works. */
  remove(id: string): void;
  has(id: string): boolean;
};

export function createVerifiedKeys(): VerifiedKeys {
  const keys = new LRUCache<string, boolean>({ max: VERIFIED_MAX, ttl: VERIFIED_MS });
  return {
    add: (id) => void keys.set(id, true),
    remove(id) {
      // Not deleted: lru-cache clears its arrays, of VERIFIED_MAX elements, when its last entry is
      // deleted.
      if (keys.has(id)) keys.set(id, false);
    },
    has: (id) => keys.get(id) === true,
  };
}

/** Whether a request carries a recently verified key; costs no query. */
export function carriesVerifiedKey(request: Request, verifiedKeys: VerifiedKeys): boolean {
  const key = parseKey(bearerToken(request.headers.get("authorization") ?? "") ?? "");
  return key !== undefined && verifiedKeys.has(keyId(key));
}

/** Throws `unauthorized`, `forbidden`, `key_revoked` and `rate_limited`. */
export const createApiKeyAuth =
  (deps: ApiKeyAuthDeps): Authenticator =>
  async ({ call, request, headers }, access) => {
    if (access === "static") {
      deps.anonymousLimit.describe(call.address, headers);
      return;
    }
    if (access === "public") {
      deps.anonymousLimit.enforce(call.address, headers);
      return;
    }
    if (access === "session") throw new Error("The API has no sessions.");
    const authorization = request.headers.get("authorization");
    const key = requireKey(authorization);
    const result = await authorizeRequest(deps, { call, key, headers }, access);
    call.principal = result.principal;
    call.confirm = () => confirm(deps.authorize, key, access);
    call.windows = result.windows;
    Object.assign(headers, describeLimits(result));
    throwUnlessOk(result, access);
  };

type KeyRequest = {
  call: Call;
  key: KeyParts;
  headers: Record<string, string | number>;
};

/** The key of a request; throws `unauthorized`, without a query, when there is none. */
function requireKey(authorization: string | null): KeyParts {
  if (authorization === null) {
    throw unauthorized("This request needs an API key: Authorization: Bearer <API key>.");
  }
  const key = parseKey(bearerToken(authorization) ?? "");
  if (key === undefined) throw invalidKey();
  return key;
}

/** Throws as a new request with the key would; consumes nothing from its limits. */
async function confirm(authorize: Authorize, key: KeyParts, rule: AccessRule): Promise<void> {
  const looked = { ...rule, limit: null, cost: 0 } as const;
  const result = await authorize(keyId(key), key, looked);
  if (result === undefined) throw invalidKey();
  const isSuspended = (result.suspendedUntil ?? 0) > result.now;
  throwUnlessOk(isSuspended ? { ...result, verdict: "suspended" } : result, rule);
}

/**
 * Identifies the caller and consumes the request from its limits. Throws `unauthorized` for a key
 * that does not exist, and `rate_limited` for a network that sends keys which do not work
 * and for a key beyond its limits in this process.
 */
async function authorizeRequest(
  {
    authorize,
    unknownKeyLimit,
    refusedKeyLimit,
    verifiedKeys,
    keyLimits,
    rejections,
  }: ApiKeyAuthDeps,
  { call, key, headers }: KeyRequest,
  rule: AccessRule,
): Promise<AuthorizationResult> {
  const id = keyId(key);
  // A network that sends keys which do not work causes no more queries. A recently verified key
  // passes.
  if (!verifiedKeys.has(id)) {
    for (const limit of [unknownKeyLimit, refusedKeyLimit]) {
      if (limit.exhausted(call.address)) limit.enforce(call.address, headers);
    }
  }
  keyLimits.enforce(id, rule, headers);
  const rejection = rejections.get(id, rule);
  if (rejection !== undefined) return rejection;
  const result = await authorize(id, key, rule);
  if (result === undefined) {
    unknownKeyLimit.consume(call.address);
    throw invalidKey();
  }
  if (isRejectedEverywhere(result.verdict)) {
    verifiedKeys.remove(id);
    refusedKeyLimit.consume(call.address);
  } else {
    verifiedKeys.add(id);
  }
  const { verdict, principal } = result;
  keyLimits.record(id, rule, { verdict, account: principal.accountId });
  rejections.record(id, rule, result);
  return result;
}

/** Identifies the whole key, so that a guessed secret does not match the real one. */
const keyId = (key: KeyParts): string => key.lookup + key.secretHash.toString("base64");

/**
 * The headers of a rejection describe the exhausted window, those of other responses the most
 * constrained one.
 */
function describeLimits(result: AuthorizationResult): Record<string, string> {
  const { verdict, windows, suspendedUntil } = result;
  const window = verdict === "limited" ? exhausted(windows) : mostConstrained(windows);
  if (window === undefined) return {};
  if (verdict !== "suspended" || suspendedUntil === null) return rateLimitHeaders(window);
  return rateLimitHeaders({ ...window, used: window.limit, resetsAt: suspendedUntil });
}

function throwUnlessOk(result: AuthorizationResult, rule: AccessRule): void {
  switch (result.verdict) {
    case "ok":
      return;
    case "revoked":
      throw new ApiError(
        "key_revoked",
        result.isReplaced === true
          ? "The API key has been rotated: use the key that replaced it."
          : "The API key has been revoked.",
      );
    case "expired":
      throw unauthorized("The API key has expired.");
    case "forbidden":
      throw new ApiError("forbidden", `The API key lacks the scope ${rule.scope}.`);
    case "barred":
      throw new ApiError("forbidden", "The account is suspended.");
    case "suspended": {
      const wait = secondsUntil(result.suspendedUntil ?? result.now, result.now);
      throw new ApiError(
        "rate_limited",
        `API access is suspended. Try again in ${inSeconds(wait)}.`,
        {
          retryAfterSeconds: wait,
        },
      );
    }
    case "limited": {
      const window = exhausted(result.windows);
      if (window === undefined) throw new Error("A request was rejected by no window.");
      throw rateLimited(window, result.now);
    }
  }
}

const invalidKey = (): ApiError => unauthorized("The API key is not valid.");

const unauthorized = (message: string): ApiError =>
  new ApiError("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });

/** The token of a Bearer header (RFC 6750); the scheme is case-insensitive (RFC 9110 §11.1). */
const bearerToken = (header: string): string | undefined =>
  /^bearer +(?<token>\S+)$/i.exec(header)?.groups?.["token"];

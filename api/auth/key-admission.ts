/** Admits callers by their API key, and spends from the limits of the key's account. */
import { ApiError } from "../http/errors.ts";
import type { Call } from "../http/request-context.ts";
import type { AnonymousLimit } from "../limits/anonymous.ts";
import type { Refusals } from "../limits/refusals.ts";
import {
  rateLimited,
  rateLimitHeaders,
  refusing,
  secondsUntil,
  tightest,
} from "../limits/windows.ts";
import { parseKey } from "./api-key.ts";
import type { AccessRule, KnownVerdict } from "./authorize.ts";
import type { Authorize } from "./authorizer.ts";
import type { Admit } from "./plugin.ts";

type KeyAdmissionDeps = {
  authorize: Authorize;
  anonymousLimit: AnonymousLimit;
  refusals: Refusals;
};

/** Throws `unauthorized`, `forbidden`, `key_revoked` and `rate_limited`. */
export const createKeyAdmission =
  (deps: KeyAdmissionDeps): Admit =>
  async ({ call, request, headers }, access) => {
    if (access === "public") {
      deps.anonymousLimit.admit(call.address, headers);
      return;
    }
    if (access === "session") throw new Error("A session is asked for where there are none.");
    const verdict = await identify(deps, call, request.headers.get("authorization"), access);
    call.principal = verdict.principal;
    call.windows = verdict.windows;
    Object.assign(headers, describeLimits(verdict));
    throwUnlessOk(verdict, access);
  };

/** Finds out who calls; throws `unauthorized`, without a query where the form of the key tells. */
async function identify(
  { authorize, anonymousLimit, refusals }: KeyAdmissionDeps,
  call: Call,
  header: string | null,
  rule: AccessRule,
): Promise<KnownVerdict> {
  if (header === null) {
    throw unauthorized("This request needs an API key: Authorization: Bearer <API key>.");
  }
  const key = parseKey(bearerToken(header) ?? "");
  // Whoever has used up the limit of an address by guessing is not worth a query.
  if (key === undefined || anonymousLimit.exhausted(call.address)) throw invalidKey();
  // By the whole key: a guessed secret must not be answered like the real one.
  const id = key.lookup + key.secretHash.toString("base64");
  const refusal = refusals.find(id, rule);
  if (refusal !== undefined) return refusal;
  const verdict = await authorize(id, key, rule);
  if (verdict === undefined) throw invalidKey();
  refusals.note(id, rule, verdict);
  return verdict;
}

/** On a refusal the headers describe what refuses, else the window nearest to its end. */
function describeLimits(verdict: KnownVerdict): Record<string, string> {
  const window =
    verdict.verdict === "limited" ? refusing(verdict.windows) : tightest(verdict.windows);
  if (window === undefined) return {};
  const { suspendedUntil } = verdict;
  if (verdict.verdict !== "suspended" || suspendedUntil === null) return rateLimitHeaders(window);
  return rateLimitHeaders({ ...window, spent: window.allowed, resetsAt: suspendedUntil });
}

function throwUnlessOk(verdict: KnownVerdict, rule: AccessRule): void {
  switch (verdict.verdict) {
    case "ok":
      return;
    case "revoked":
      throw new ApiError("key_revoked", "The API key has been revoked.");
    case "expired":
      throw unauthorized("The API key has expired.");
    case "forbidden":
      throw new ApiError("forbidden", `The API key lacks the scope ${rule.scope}.`);
    case "barred":
      throw new ApiError("forbidden", "The account is suspended.");
    case "suspended": {
      const wait = secondsUntil(verdict.suspendedUntil ?? verdict.now, verdict.now);
      throw new ApiError("rate_limited", `API access is suspended. Try again in ${wait} seconds.`, {
        retryAfterSeconds: wait,
      });
    }
    case "limited": {
      const window = refusing(verdict.windows);
      if (window === undefined) throw new Error("A request was refused by no window.");
      throw rateLimited(window, verdict.now);
    }
  }
}

const invalidKey = (): ApiError => unauthorized("The API key is not valid.");

const unauthorized = (message: string): ApiError =>
  new ApiError("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });

/** The token of a Bearer header (RFC 6750; the scheme's case does not matter, RFC 9110 §11.1). */
const bearerToken = (header: string): string | undefined =>
  /^bearer +(?<token>\S+)$/i.exec(header)?.groups?.["token"];

/**
 * Who may call what. A route declares `access: { scope, limit, cost }`; before anything else of the
 * request is looked at, the caller is authenticated, the scope checked and the limits spent.
 */
import { Elysia } from "elysia";

import { ApiError, type ErrorCode } from "../http/errors.ts";
import { readJsonBody } from "../http/json-body.ts";
import type { Call, RequestContext } from "../http/request-context.ts";
import type { AnonymousLimit } from "../limits/anonymous.ts";
import type { Refusals } from "../limits/refusals.ts";
import {
  rateLimited,
  rateLimitHeaders,
  refusing,
  secondsUntil,
  tightest,
} from "../limits/windows.ts";
import { type Access, accessDetail, noted } from "./access-rules.ts";
import { parseKey } from "./api-key.ts";
import type { AccessRule, KnownVerdict, Principal } from "./authorize.ts";
import type { Authorize } from "./authorizer.ts";

type AuthDeps = {
  authorize: Authorize;
  anonymousLimit: AnonymousLimit;
  refusals: Refusals;
  requestContext: RequestContext;
};

const UNREAD_BODY = Object.freeze({});

export type AuthPlugin = ReturnType<typeof authPlugin>;

/** The plugin with the `access` rule and the `jsonBody` of a route. */
export const authPlugin = ({ requestContext, ...deps }: AuthDeps) =>
  new Elysia({ name: "auth" })
    .use(requestContext)
    .macro({
      access: (rule: Access) => ({
        detail: accessDetail(rule),
        async transform({ call, request, set }) {
          if (call === undefined) throw new Error("The request context is missing.");
          if (rule === "public") {
            admitAnyone(deps.anonymousLimit, call, set.headers);
            return;
          }
          const header = request.headers.get("authorization");
          const verdict = await identify(deps, call, header, rule);
          call.principal = verdict.principal;
          call.windows = verdict.windows;
          Object.assign(set.headers, describeLimits(verdict));
          throwUnlessOk(verdict, rule);
        },
      }),
      /** Stands behind `access`, so that a body is neither read nor judged for a stranger. */
      jsonBody: (presence: "required" | "optional") => ({
        // Elysia would read the body before the caller is known; this leaves it unread until then.
        parse: () => UNREAD_BODY,
        async transform(context) {
          const absent = presence === "optional" && context.request.body === null;
          context.body = absent ? {} : await readJsonBody(context.request);
        },
      }),
      /** Codes that this route can answer with beside those that follow from its other rules. */
      errors: (codes: readonly ErrorCode[]) => ({ detail: noted({ "x-errors": codes }) }),
      /** The route answers a repeated `Idempotency-Key`: see `idempotency/once.ts`. */
      idempotent: (does: true) => ({ detail: noted({ "x-idempotent": does }) }),
    })
    .as("scoped");

/** The caller of a route with an access rule. */
export function principalOf(call: Call | undefined): Principal {
  if (call?.principal === undefined) throw new Error("The route declares no access rule.");
  return call.principal;
}

function admitAnyone(
  anonymousLimit: AnonymousLimit,
  { address }: Call,
  headers: Record<string, string | number>,
): void {
  const { window, granted } = anonymousLimit.spend(address);
  Object.assign(headers, rateLimitHeaders(window));
  if (!granted) throw rateLimited(window, Date.now());
}

/** Finds out who calls; throws `unauthorized`, without a query where the form of the key tells. */
async function identify(
  { authorize, anonymousLimit, refusals }: Omit<AuthDeps, "requestContext">,
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

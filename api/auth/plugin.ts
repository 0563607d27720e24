/**
 * Who may call what. A route declares `access: { scope, limit, cost }`; before anything else of the
 * request is looked at, the caller is authenticated, the scope checked and the limits spent.
 */
import { Elysia } from "elysia";

import { ApiError } from "../http/errors.ts";
import { readJsonBody } from "../http/json-body.ts";
import type { Call, RequestContext } from "../http/request-context.ts";
import type { AnonymousLimit } from "../limits/anonymous.ts";
import {
  rateLimited,
  rateLimitHeaders,
  refusing,
  secondsUntil,
  tightest,
} from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import { parseKey } from "./api-key.ts";
import { type AccessRule, authorize, type Principal, type Verdict } from "./authorize.ts";

type AuthDeps = { sql: Sql; anonymousLimit: AnonymousLimit; requestContext: RequestContext };

const UNREAD_BODY = Object.freeze({});

export type AuthPlugin = ReturnType<typeof authPlugin>;

/** The plugin with the `access` rule and the `jsonBody` of a route. */
export const authPlugin = ({ sql, anonymousLimit, requestContext }: AuthDeps) =>
  new Elysia({ name: "auth" })
    .use(requestContext)
    .macro({
      access: (rule: AccessRule) => ({
        async transform({ call, request, set }) {
          if (call === undefined) throw new Error("The request context is missing.");
          const header = request.headers.get("authorization");
          const verdict = await identify({ sql, anonymousLimit }, call, header, rule);
          call.principal = verdict.principal;
          call.windows = verdict.windows;
          Object.assign(set.headers, describeLimits(verdict));
          throwUnlessOk(verdict, rule);
        },
      }),
      /** Stands behind `access`, so that a body is neither read nor judged for a stranger. */
      jsonBody: (_wanted: true) => ({
        // Elysia would read the body before the caller is known; this leaves it unread until then.
        parse: () => UNREAD_BODY,
        async transform(context) {
          context.body = await readJsonBody(context.request);
        },
      }),
    })
    .as("scoped");

/** The caller of a route with an access rule. */
export function principalOf(call: Call | undefined): Principal {
  if (call?.principal === undefined) throw new Error("The route declares no access rule.");
  return call.principal;
}

type KnownVerdict = Exclude<Verdict, { verdict: "unknown" }>;

/** Finds out who calls; throws `unauthorized`, without a query where the form of the key tells. */
async function identify(
  { sql, anonymousLimit }: Pick<AuthDeps, "sql" | "anonymousLimit">,
  call: Call,
  header: string | null,
  rule: AccessRule,
): Promise<KnownVerdict> {
  if (header === null) {
    throw unauthorized("This request needs an API key: Authorization: Bearer <API key>.");
  }
  const key = parseKey(bearerToken(header) ?? "");
  // Whoever has used up the limit of an address by guessing is not worth a query.
  const guessing = anonymousLimit.exhausted(call.address);
  const verdict = key === undefined || guessing ? undefined : await authorize(sql, key, rule);
  if (verdict === undefined || verdict.verdict === "unknown") {
    throw unauthorized("The API key is not valid.");
  }
  return verdict;
}

function describeLimits(verdict: KnownVerdict): Record<string, string> {
  const window =
    verdict.verdict === "limited" ? refusing(verdict.windows) : tightest(verdict.windows);
  return window === undefined ? {} : rateLimitHeaders(window);
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

const unauthorized = (message: string): ApiError =>
  new ApiError("unauthorized", message, { headers: { "www-authenticate": "Bearer" } });

/** The token of a Bearer header (RFC 6750; the scheme's case does not matter, RFC 9110 §11.1). */
const bearerToken = (header: string): string | undefined =>
  /^bearer +(?<token>\S+)$/i.exec(header)?.groups?.["token"];

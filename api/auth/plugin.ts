/**
 * Access control: authenticates the caller, checks that it has the route's scope, and counts the
 * request against the rate limits.
 *
 * Each route declares `access: { scope, limit, cost }`; if a route lacks the declaration, the
 * process refuses to start. The route option `access`, defined below, runs before the body of the
 * request is read. While the process is overloaded, it first rejects calls of expensive routes with
 * 503. Then it calls an authenticator, which throws to reject the request. There are two:
 *
 * - `/v1` authenticates by API key (`api-key-auth.ts`). The scope is checked in PostgreSQL, by the
 *   function `authorize_request` (`api/migrations/*.sql`). In one call this function finds the key
 *   by its look-up id, compares the hash of its secret, checks that the key is neither revoked nor
 *   expired, that the account is not suspended, and that the route's scope is among the key's
 *   scopes. Then it counts the request against every rate limit of the account or, if one is
 *   exhausted, against none. If the key lacks the scope, it returns `forbidden`, and the API
 *   responds with 403. No request is accepted without a check in PostgreSQL (concurrent requests
 *   share one query), so a revocation takes effect with the next request, in all processes. Only
 *   rejections for a rate limit or a suspended account are cached, for one second.
 * - The dashboard authenticates by session (`../sessions/session-auth.ts`). The path names the
 *   account. The user's role in it determines the scopes, and the authenticator checks that the
 *   route's scope is among them.
 *
 * Both authenticators record the principal on the request: the key or session, its account, mode
 * (live or test) and scopes. A scope permits an operation, not a resource. So every SQL statement
 * on a resource filters by the principal's account and mode, and a link of another account is not
 * found (404).
 */
import { Elysia } from "elysia";

import { ApiError, type ErrorCode } from "../http/errors.ts";
import { isNotModified } from "../http/etag.ts";
import { readJsonBody } from "../http/json-body.ts";
import { readQuery, requireKnownParameters } from "../http/query.ts";
import type { Call, RequestContext } from "../http/request-context.ts";
import { type Access, accessDetail, noted } from "./access-rules.ts";

/**
 * The part of a request that an authenticator reads. It fills in the call and sets response
 * headers.
 */
type AuthContext = { call: Call; request: Request; headers: Record<string, string | number> };

/** Lets a request pass, or throws the reason for rejecting it. */
export type Authenticator = (context: AuthContext, access: Access) => void | Promise<void>;

type AuthDeps = {
  authenticate: Authenticator;
  requestContext: RequestContext;
  /** The query parameters that a route accepts. */
  parametersOf: (method: string, path: string) => readonly string[];
  /** Whether the process is overloaded: its event loop is behind with work. */
  isBehind: () => boolean;
};

const UNREAD_BODY = Object.freeze({});

const isExpensive = (access: Access): boolean =>
  typeof access === "object" && access.expensive === true;

/** Seconds after which a process that was behind may have caught up. */
const OVERLOADED_RETRY_SECONDS = 5;

/** Before a call costs anything, its key included: others wait already. */
const overloaded = (): ApiError =>
  new ApiError("unavailable", "The service is busy. Try again shortly.", {
    retryAfterSeconds: OVERLOADED_RETRY_SECONDS,
  });

export type AuthPlugin = ReturnType<typeof authPlugin>;

/**
 * The plugin that implements the `access`, `jsonBody`, `errors`, `conditional` and `idempotent`
 * options of routes.
 */
export const authPlugin = ({ authenticate, requestContext, parametersOf, isBehind }: AuthDeps) =>
  new Elysia({ name: "auth" })
    .use(requestContext)
    .macro({
      access: (access: Access) => ({
        detail: accessDetail(access),
        async transform(context) {
          const { call, request, route, set } = context;
          if (call === undefined) throw new Error("The request context is missing.");
          if (isExpensive(access) && isBehind()) throw overloaded();
          await authenticate({ call, request, headers: set.headers }, access);
          // Assigns a single property: passing on the context would make the framework read the
          // whole request first. The framework's type of a query lacks repeated parameters; the
          // route's schema validates both.
          const query = readQuery(request.url) as Record<string, string>;
          if (access !== "static") {
            requireKnownParameters(query, parametersOf(request.method, route));
          }
          context.query = query;
        },
      }),
      /**
       * Declare it after `access`: the body of an unauthenticated request is neither read nor
       * validated.
       */
      jsonBody: (presence: "required" | "optional") => ({
        // Elysia would read the body before authentication; this parser leaves it unread.
        parse: () => UNREAD_BODY,
        async transform(context) {
          const absent = presence === "optional" && context.request.body === null;
          context.body = absent ? {} : await readJsonBody(context.request);
        },
      }),
      /** Error codes of this route beyond those that its other options imply. */
      errors: (codes: readonly ErrorCode[]) => ({ detail: noted({ "x-errors": codes }) }),
      /**
       * `read`: returns 304 to a client whose `ETag` is current. `write`: honours `If-Match`, and
       * may return 412.
       */
      conditional: (kind: "read" | "write") => ({
        detail: noted({ "x-conditional": kind }),
        mapResponse({ request, set }) {
          const etag = set.headers["etag"];
          const isRead = kind === "read" && Number(set.status ?? 200) === 200;
          if (!isRead || typeof etag !== "string" || !isNotModified(request.headers, etag)) {
            return undefined;
          }
          set.status = 304;
          return new Response(null, { status: 304 });
        },
      }),
      /** Replays the response to a repeated `Idempotency-Key`: see `idempotency/idempotent.ts`. */
      idempotent: (enabled: true) => ({ detail: noted({ "x-idempotent": enabled }) }),
    })
    .as("scoped");

/**
 * Access control: authenticates the caller of a route, checks the scope, and consumes the rate
 * limits.
 *
 * Each route declares `access: { scope, limit, cost }`. A process with a route that declares none
 * does not start. The option `access` below runs before the body of the request is read. It calls
 * an authenticator, which throws to reject the request. There are two:
 *
 * - `/v1` authenticates by API key (`api-key-auth.ts`). The PostgreSQL function `authorize_request`
 *   decides in one call: it finds the key by its look-up id, compares the hash of its secret, checks
 *   that it is neither revoked nor expired, checks that the scope of the route is among the scopes of
 *   the key, and consumes the request from all rate limits of the account or from none. If the scope
 *   is missing, its verdict is `forbidden`, which becomes a 403. Every request asks PostgreSQL, so a
 *   revocation is in effect from the next request on, in all processes. Concurrent requests share a
 *   query. Only rejections by a rate limit or a suspension are cached, for a second.
 * - The dashboard authenticates by session (`../sessions/session-auth.ts`). The path names the
 *   account. The role of the user in this account determines the scopes, and the authenticator
 *   compares them with the route's.
 *
 * Both set the principal of the call: the key or session, its account, mode and scopes. A scope
 * permits an operation, not a resource. The statements of each resource therefore contain the
 * account and mode of the principal, so a link of another account is not found (404).
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
  /** Whether the process is behind. */
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

/** The plugin that implements the `access`, `jsonBody`, `errors`, `conditional` and `idempotent` options of routes. */
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
      /** Declare it after `access`: the body of an unauthenticated request is neither read nor validated. */
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

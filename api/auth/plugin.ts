/**
 * Access control. A route declares `access: { scope, limit, cost }`. Before the rest of the request
 * is read, the caller is authenticated, the scope checked and the rate limits consumed. An
 * authenticator does so by API key (`api-key-auth.ts`) or by session
 * (`../sessions/session-auth.ts`).
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

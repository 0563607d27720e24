/**
 * The journey of a request through a site: `/v1`, whose callers have API keys, or the dashboard's,
 * whose users have sessions. The framework calls its steps in this order:
 *
 * 1. `#receive`, for every request: its id, its host, who may call, and whether the path has the
 *    method. What needs no route gets its response here.
 * 2. `#admit`, for a route: refuses expensive calls while the process is behind, authenticates the
 *    caller, checks the scope and consumes from the limits, and reads the query. Only then is the
 *    body read, validated (`http/validation.ts`), and the handler called.
 * 3. `#fail`, when any of these throws: the one error envelope.
 * 4. `#complete`, when the response has been sent: its metric and its trace.
 *
 * A response also has the headers that these steps have set: those of the site and of CORS, the
 * request's id, and the window that is closest to its limit.
 */
import { Elysia, NotFoundError, ParseError } from "elysia";

import type { TrustedProxies } from "../shared/client-address.ts";
import { QueueFull } from "../shared/fair-queue.ts";
import type { Log } from "../shared/log.ts";
import {
  type Access,
  accessDetail,
  type Authenticator,
  type DeclaredAccess,
  type DeclaredRoute,
  noted,
  requireAccessRules,
  toAccess,
} from "./auth/access-rules.ts";
import { isClickHouseUnavailable } from "./clickhouse.ts";
import { ApiError, type ErrorCode, unavailable } from "./http/errors.ts";
import { isNotModified, readPreconditions } from "./http/etag.ts";
import { leaveUnread, readJsonBody } from "./http/json-body.ts";
import { allowOrigins, requireSameOrigin } from "./http/origins.ts";
import { readQuery, requireKnownParameters } from "./http/query.ts";
import {
  addressOf,
  type Call,
  ForwardedRequest,
  principalOf,
  type ResponseHeaders,
  type ResponseSettings,
} from "./http/request-context.ts";
import { RouteTable } from "./http/route-table.ts";
import { installValidation, INTERNAL_MESSAGE, type ValidatedRoute } from "./http/validation.ts";
import { Idempotency, type Work } from "./idempotency/idempotency.ts";
import { rateLimited, rateLimitHeaders } from "./limits/windows.ts";
import { isUnavailable, isUnstorable } from "./postgres.ts";
import type { Stores } from "./stores.ts";

/** A request that has got its response. */
export type CompletedRequest = {
  request: Request;
  /** The route's pattern, such as `/v1/links/:id`; empty when no route matches. */
  route: string;
  status: number;
  /** From the request's arrival to its response. */
  seconds: number;
};

/** The part of a process that its sites use. */
export interface SiteContext {
  readonly log: Log;
  readonly stores: Stores;
  readonly proxies: TrustedProxies;
  /** The origin of short links, without a trailing slash. */
  readonly shortUrl: string;
  /** The origin of `/v1`, without a trailing slash; undefined when it is not configured. */
  readonly apiUrl: string | undefined;
  /** The origins whose pages may call `/v1` from a browser. */
  readonly corsOrigins: readonly string[];
  /** The path of the packed TypeScript client; in no folder where there is none. */
  readonly clientFile: string;
  /** Whether this installation sends mails. */
  readonly sendsMails: boolean;
  /** Whether the process is stopping; responses then ask clients to reconnect elsewhere. */
  isStopping(): boolean;
  /** Whether the process is behind with work; expensive calls then get 503. */
  isBehind(): boolean;
  noteFailure(error: unknown): void;
  noteCompleted(completed: CompletedRequest): void;
}

export type Server = { requestIP(request: Request): { address: string } | null } | null;

/** The plugin that gives routes their options: `access`, `errors` and others. */
export type AccessPlugin = Site["access"];

export class Site {
  readonly #context: SiteContext;
  readonly #authenticator: Authenticator;
  readonly #headers: Readonly<ResponseHeaders>;
  readonly #ownOrigin: string | undefined;
  readonly #idempotency: Idempotency;
  readonly #routes = new RouteTable();
  /** When requests arrived (`performance.now()`). */
  readonly #arrivals = new WeakMap<Request, number>();

  /**
   * `url` is that of the site, and `headers` those of all its responses beyond the usual. Only
   * pages of `ownOrigin` may change anything on a site with sessions; a site without one lets those
   * of `corsOrigins` call, and its errors name the page that explains them.
   */
  constructor(
    context: SiteContext,
    authenticator: Authenticator,
    { url, headers, ownOrigin }: { url: string; headers?: ResponseHeaders; ownOrigin?: string },
  ) {
    this.#context = context;
    this.#authenticator = authenticator;
    this.#idempotency = new Idempotency(context.stores.requests);
    this.#headers = { ...siteHeaders(url), ...headers };
    this.#ownOrigin = ownOrigin;
  }

  /** Adds the client's address to each routed request. */
  readonly #calls = new Elysia({ name: "calls" }).derive(
    { as: "global" },
    ({ request, server, set }) => {
      const address = addressOf(request, server, this.#context.proxies);
      const call: Call = { address, requestId: String(set.headers["x-request-id"]) };
      return { call };
    },
  );

  /** The steps of every request; the app of the site uses it before its routes. */
  readonly journey = new Elysia({ name: "journey" })
    .onRequest((context) => {
      const { request, set } = context;
      // Keeps the framework from parsing the query before authentication, which takes up to 12 ms
      // for 15 KB of escapes; `#admit` reads it afterwards. `qi` is the index of the question mark
      // that the framework has found; its types lack it. Inlined, because passing the context to a
      // function makes the framework read bodies.
      (context as { qi?: number }).qi = -1;
      return this.#receive(request, set);
    })
    .use(this.#calls)
    .onError({ as: "global" }, ({ error, request, server, set }) =>
      this.#fail(error, request, server, set),
    )
    .onAfterResponse({ as: "global" }, ({ request, route, set, responseValue }) =>
      this.#complete(request, route, set, responseValue),
    );

  /** The options of routes. */
  readonly access = new Elysia({ name: "access" })
    .use(this.#calls)
    .macro({
      /**
       * Who may call the route. Everything else of a request is read after that: also its body, as
       * JSON, if the route has a schema of it.
       */
      access: (declared: DeclaredAccess) => {
        const access = toAccess(declared);
        return {
          detail: accessDetail(access),
          parse: leaveUnread,
          transform: async (context) => {
            const { call, request, route, set } = context;
            if (call === undefined) throw new Error("The request has no call.");
            // Assigns single properties: passing on the context would make the framework read the
            // whole request first. The framework's type of a query lacks repeated parameters; the
            // route's schema validates both.
            const query = await this.#admit({ call, request, headers: set.headers }, route, access);
            context.query = query as Record<string, string>;
            const taken = this.#routes.bodyOf(request.method, route);
            if (taken === undefined) return;
            const isAbsent = taken === "optional" && request.body === null;
            context.body = isAbsent ? {} : await readJsonBody(request);
          },
        };
      },
      /** A request without a body counts as one with `{}`. */
      optionalBody: (enabled: true) => ({ detail: noted({ "x-optional-body": enabled }) }),
      /** Error codes of this route beyond those that its other options imply. */
      errors: (codes: readonly ErrorCode[]) => ({ detail: noted({ "x-errors": codes }) }),
      /** Returns 304 to a client whose `ETag` is current. */
      conditionalRead: (_enabled: true) => ({
        detail: noted({ "x-conditional": "read" }),
        mapResponse({ request, set }) {
          const etag = set.headers["etag"];
          const isOk = Number(set.status ?? 200) === 200;
          if (!isOk || typeof etag !== "string" || !isNotModified(request.headers, etag))
            return undefined;
          set.status = 304;
          return new Response(null, { status: 304 });
        },
      }),
      /** Gives the handler `requireVersion`, which a change of the resource requires. */
      conditionalWrite: (_enabled: true) => ({
        detail: noted({ "x-conditional": "write" }),
        resolve: ({ request }) => ({ requireVersion: readPreconditions(request.headers) }),
      }),
      /**
       * Gives the handler `runOnce`, which replays the response to a repeated `Idempotency-Key`. A
       * `secret` response is replayed only to the API key or session that made the request.
       */
      idempotent: (kind: "plain" | "secret") => ({
        detail: noted({ "x-idempotent": true }),
        resolve: ({ call, request, body, set }) => ({
          runOnce: <Body>(work: Work<Body>): Promise<Body> =>
            this.#idempotency.run({ principal: principalOf(call), request, body, set }, kind, work),
        }),
      }),
    })
    .as("scoped");

  /** Takes over the routes of the finished app; throws for one without an access rule. */
  finish(routes: readonly (DeclaredRoute & ValidatedRoute)[]): void {
    requireAccessRules(routes);
    installValidation(routes);
    this.#routes.fill(routes);
  }

  /** The origin at which the client of a request reaches the site, without a trailing slash. */
  originOf(request: Request): string {
    const { apiUrl, shortUrl } = this.#context;
    if (apiUrl !== undefined || this.#ownOrigin !== undefined)
      return apiUrl ?? this.#ownOrigin ?? "";
    const host = URL.parse(request.url)?.host;
    // A proxy may have terminated TLS: the scheme is that of the short URLs.
    return host === undefined ? "" : `${new URL(shortUrl).protocol}//${host}`;
  }

  /** Step 1. Returns the response of a request that needs no route. */
  #receive(request: Request, set: ResponseSettings): Response | undefined {
    Object.assign(set.headers, this.#headers);
    // Errors from here on have the id of their request.
    set.headers["x-request-id"] = requestIdOf(request);
    requireValidHost(request);
    this.#routes.requireMethod(request);
    const response =
      this.#ownOrigin === undefined
        ? allowOrigins(request, set, this.#context.corsOrigins)
        : requireSameOrigin(request, this.#ownOrigin);
    if (response !== undefined) return response;
    if (this.#context.isStopping()) set.headers["connection"] = "close";
    if (isHealthCheck(request)) {
      set.headers["content-type"] = "application/json";
      return new Response(HEALTHY);
    }
    this.#arrivals.set(request, performance.now());
    if (request instanceof ForwardedRequest && request.refusal !== undefined) throw request.refusal;
    return undefined;
  }

  /** Step 2. Returns the query of a request that its route may handle; throws otherwise. */
  async #admit(
    context: { call: Call; request: Request; headers: ResponseHeaders },
    route: string,
    access: Access,
  ): Promise<Record<string, string | string[]>> {
    // Before a call costs anything, its key included: others wait already.
    if (isExpensive(access) && this.#context.isBehind()) throw overloaded();
    await this.#authenticator.authenticate(context, access);
    const { request } = context;
    const query = readQuery(request.url);
    // A page ignores what a network, a mailing or a provider (RFC 6749 §4.1.2) has added.
    if (access !== "static" && access !== "page")
      requireKnownParameters(query, this.#routes.parametersOf(request.method, route));
    return query;
  }

  /** Step 3. Returns the error envelope, without internal details. */
  #fail(error: unknown, request: Request, server: Server, set: ResponseSettings) {
    this.#context.noteFailure(error);
    dropBody(request);
    const failure = this.#toApiError(error, request);
    const response = this.#refuseAnonymous(failure, request, server, set) ?? failure;
    if (response.status >= 500) {
      const level = response.reason === "internal" ? "error" : "warn";
      this.#context.log[level](
        { error: response.cause, request_id: set.headers["x-request-id"] },
        "request_failed",
      );
    }
    set.status = response.status;
    Object.assign(set.headers, response.headers);
    const { envelope } = response;
    if (this.#ownOrigin !== undefined) return envelope;
    const doc_url = `${this.originOf(request)}${ERRORS_PATH}#${response.reason}`;
    return { error: { ...envelope.error, doc_url } };
  }

  /** Step 4. */
  #complete(request: Request, route: string, set: ResponseSettings, response: unknown): void {
    const arrivedAt = this.#arrivals.get(request);
    if (arrivedAt === undefined) return;
    const status = response instanceof Response ? response.status : Number(set.status ?? 200);
    const seconds = (performance.now() - arrivedAt) / 1_000;
    this.#context.noteCompleted({ request, route, status, seconds });
  }

  #toApiError(error: unknown, request: Request): ApiError {
    if (error instanceof ApiError) return error;
    if (error instanceof NotFoundError) return this.#routes.notFound(request);
    if (error instanceof ParseError) {
      return new ApiError("invalid_request", "The body is not valid JSON.", { cause: error });
    }
    if (error instanceof QueueFull) return busy(error);
    // No check before it has to know which texts of a request reach a statement.
    if (isUnstorable(error))
      return new ApiError("invalid_request", "The request has a character that no text may have.");
    if (isUnavailable(error) || isClickHouseUnavailable(error)) return unavailable(error);
    return new ApiError("internal", INTERNAL_MESSAGE, { cause: error });
  }

  /**
   * Counts a failed request against its address where no access rule has identified the caller:
   * then the response has no window yet. Returns the 429 of an address that has none left.
   */
  #refuseAnonymous(
    failure: ApiError,
    request: Request,
    server: Server,
    set: ResponseSettings,
  ): ApiError | undefined {
    if (set.headers["x-ratelimit-limit"] !== undefined) return undefined;
    const address = addressOf(request, server, this.#context.proxies);
    const { window, granted } = this.#authenticator.anonymous.consume(address);
    Object.assign(set.headers, rateLimitHeaders(window));
    // A 5xx is never replaced by a 429: our fault may be the reason that a valid key was not
    // recognized.
    if (granted || failure.status >= 500 || this.#authenticator.isVerified(request.headers))
      return undefined;
    return rateLimited(window, Date.now());
  }
}

/** The path of the page that explains the errors; each code is a fragment of it. */
export const ERRORS_PATH = "/docs/errors";

/** A browser that has used https uses only https for a year (RFC 6797). */
const HSTS = "max-age=31536000";

/**
 * The headers of a site at `url`. Responses belong to one key or session, so caches must not store
 * them unless a route allows it.
 */
const siteHeaders = (url: string): Record<string, string> => ({
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  ...(url.startsWith("https:") ? { "strict-transport-security": HSTS } : {}),
});

/** A client's own request id is used if it is safe in a header and in a log. */
const REQUEST_ID_FORM = /^[\w.-]{1,128}$/;

function requestIdOf(request: Request): string {
  const sent = request.headers.get("x-request-id");
  return sent !== null && REQUEST_ID_FORM.test(sent) ? sent : Bun.randomUUIDv7();
}

/**
 * Throws `invalid_request` for an invalid Host header. A repeated one may be read differently by a
 * proxy (RFC 9112 §3.2). With one that is not a host and port, the request has no valid URL. The
 * server joins repeated headers with commas, and no host name contains a comma.
 */
function requireValidHost(request: Request): void {
  if (request.headers.get("host")?.includes(",") === true) {
    throw new ApiError("invalid_request", "The request has more than one Host header.");
  }
  if (!URL.canParse(request.url)) {
    throw new ApiError("invalid_request", "The Host header is not a host.");
  }
}

const HEALTHY = JSON.stringify({ status: "ok" });

/** Whether a load balancer asks if the process is alive: that takes no store, limit or key. */
const isHealthCheck = ({ method, url }: Request): boolean =>
  (method === "GET" || method === "HEAD") && URL.parse(url)?.pathname === "/healthz";

const isExpensive = (access: Access): boolean =>
  typeof access === "object" && access.expensive === true;

/** Seconds after which a process that was behind, or whose queue was full, may have caught up. */
const CAUGHT_UP_SECONDS = 5;

const overloaded = (cause?: unknown): ApiError =>
  new ApiError("unavailable", "The service is busy. Try again shortly.", {
    retryAfterSeconds: CAUGHT_UP_SECONDS,
    cause,
  });

/**
 * Lets go of a body that nobody has read. The runtime would keep its bytes until the collector
 * runs, which knows nothing of their size.
 */
function dropBody(request: Request): void {
  if (!request.bodyUsed) request.body?.cancel().catch(() => undefined);
}

/** An account that has too much waiting has itself to wait for; a full queue is the service's. */
const busy = (error: QueueFull): ApiError =>
  error.of === "all"
    ? overloaded(error)
    : new ApiError("rate_limited", "Too much of your work is waiting. Try again shortly.", {
        retryAfterSeconds: CAUGHT_UP_SECONDS,
        cause: error,
      });

/** How the sites listen; `shared` lets the other API processes of the host use the same port. */
export const listenOptions = (shared: boolean) =>
  ({
    // Otherwise two processes that are not meant to share a port would silently divide its
    // connections.
    reusePort: shared,
    development: false,
    idleTimeout: 30,
    // `http/json-body.ts` bounds bodies, so that the error response has our envelope.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  }) as const;

/**
 * How long a stopping process that shares its port sends its clients to the other processes, before
 * it closes.
 */
const DRAIN_MS = 2_000;

/**
 * Stops a server after its requests have ended. Bun closes idle connections at once, so a client
 * that reuses one at that moment fails. With a shared port, clients are first asked to reconnect
 * (`#receive`).
 */
export async function stopSite(
  server: { stop: () => Promise<void> } | null,
  shared: boolean,
): Promise<void> {
  if (shared) await Bun.sleep(DRAIN_MS);
  await server?.stop();
}

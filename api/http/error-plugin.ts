/** Turns every failure into the one error envelope, without internal details. */
import { Elysia, NotFoundError, ParseError } from "elysia";

import type { ClientAddress } from "../../shared/client-address.ts";
import { QueueFull } from "../../shared/fair-queue.ts";
import type { Log } from "../../shared/log.ts";
import { ApiError, type ErrorCode, notFound, unavailable } from "./errors.ts";
import { type LimitWindow, rateLimited, rateLimitHeaders } from "./rate-limit.ts";
import { addressOf } from "./request-context.ts";
import { INTERNAL_MESSAGE } from "./validation.ts";

type Route = { method: string; path: string };

type ErrorDeps = {
  log: Log;
  /**
   * Consumes a request from the limit of an address; used when no access rule has run for the
   * request.
   */
  consumeAnonymous: (address: string) => { window: LimitWindow; granted: boolean };
  /** Whether the request carries verified credentials, although no access rule has run. */
  isVerified?: (request: Request) => boolean;
  /** Whether an error means that a database is unavailable. */
  isStoreUnavailable: (error: unknown) => boolean;
  /** Called with every error of a request before the response is built. */
  onFailure?: ((error: unknown) => void) | undefined;
  clientAddress: ClientAddress;
  /** Every route of the finished app. */
  routes: () => readonly Route[];
  /** The URL of the page that explains an error; undefined when the site has none. */
  docUrl?: (request: Request, code: ErrorCode) => string;
};

/** The plugin that responds to every failed request, including failures raised by the framework. */
export const errorPlugin = ({
  log,
  consumeAnonymous,
  isVerified = () => false,
  isStoreUnavailable,
  onFailure,
  clientAddress,
  routes,
  docUrl,
}: ErrorDeps) =>
  new Elysia({ name: "errors" }).onError({ as: "global" }, ({ error, request, server, set }) => {
    onFailure?.(error);
    const failure = toApiError(error, request, { routes: routes(), isStoreUnavailable });
    // Without these headers no access rule has identified the caller, so the request counts against
    // its address.
    const anonymous =
      set.headers["x-ratelimit-limit"] === undefined
        ? consumeAnonymous(addressOf(request, server, clientAddress))
        : undefined;
    // A 5xx is never replaced by a 429: our fault may be the reason that a valid key was not
    // recognized.
    const rejection =
      anonymous?.granted === false && failure.status < 500 && !isVerified(request)
        ? rateLimited(anonymous.window, Date.now())
        : undefined;
    const response = rejection ?? failure;
    if (anonymous !== undefined) Object.assign(set.headers, rateLimitHeaders(anonymous.window));
    if (response.status >= 500) {
      const level = response.reason === "internal" ? "error" : "warn";
      log[level](
        { error: response.cause, request_id: set.headers["x-request-id"] },
        "request_failed",
      );
    }
    set.status = response.status;
    Object.assign(set.headers, response.headers);
    const { envelope } = response;
    if (docUrl === undefined) return envelope;
    return { error: { ...envelope.error, doc_url: docUrl(request, response.reason) } };
  });

function toApiError(
  error: unknown,
  request: Request,
  {
    routes,
    isStoreUnavailable,
  }: { routes: readonly Route[] } & Pick<ErrorDeps, "isStoreUnavailable">,
): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof NotFoundError) return noRoute(request, routes);
  if (error instanceof ParseError) {
    return new ApiError("invalid_request", "The body is not valid JSON.", { cause: error });
  }
  if (error instanceof QueueFull) return busy(error);
  if (isStoreUnavailable(error)) return unavailable(error);
  return new ApiError("internal", INTERNAL_MESSAGE, { cause: error });
}

/** Seconds after which a client may retry: by then a queue has shrunk. */
const QUEUE_SECONDS = 5;

/** An account that has too much waiting has itself to wait for; a full queue is the service's. */
function busy(error: QueueFull): ApiError {
  const options = { retryAfterSeconds: QUEUE_SECONDS, cause: error };
  return error.of === "key"
    ? new ApiError("rate_limited", "Too much of your work is waiting. Try again shortly.", options)
    : new ApiError("unavailable", "The service is busy. Try again shortly.", options);
}

/**
 * Returns a function that throws the 405 of a path that exists as it is with other methods: a route
 * with a parameter in the place of its last part would take the part for an id.
 */
export function createMethodCheck(routes: () => readonly Route[]): (request: Request) => void {
  let methods: Map<string, Set<string>> | undefined;
  return (request) => {
    methods ??= methodsOf(routes());
    // What has an invalid host is refused later.
    const pathname = URL.parse(request.url)?.pathname ?? "";
    const known = methods.get(pathname);
    if (known === undefined || known.has(request.method) || IMPLIED.has(request.method)) return;
    throw noRoute(
      request,
      routes().filter(({ path }) => path === pathname),
      routes(),
    );
  };
}

/** Answered by the framework, and by what allows pages of other origins. */
const IMPLIED: ReadonlySet<string> = new Set(["HEAD", "OPTIONS"]);

/** A parameter that may be any text, also the word of a path: a tag may be named `merge`. */
const ANY_TEXT = /:(?:name|external_id)\b/;

/** The methods of each path that has no parameter, with those of names that the path may be. */
function methodsOf(routes: readonly Route[]): Map<string, Set<string>> {
  const named = routes.filter(({ path }) => ANY_TEXT.test(path));
  const fixed = new Set(routes.map(({ path }) => path).filter((path) => !/[:*]/.test(path)));
  return new Map(
    [...fixed].map((path) => {
      const segments = splitPath(path);
      const own = routes.filter((route) => route.path === path);
      const names = named.filter((route) => pathMatches(route.path, segments));
      return [path, new Set([...own, ...names].map(({ method }) => method))];
    }),
  );
}

/** 405 when the path exists with other methods, else 404. */
function noRoute(
  request: Request,
  routes: readonly Route[],
  all: readonly Route[] = routes,
): ApiError {
  const { pathname } = new URL(request.url);
  const segments = splitPath(pathname);
  const methods = routes
    .filter((route) => pathMatches(route.path, segments))
    .map((route) => route.method);
  if (methods.length === 0) return notFound("resource");
  const allow = [...new Set(methods)].toSorted().join(", ");
  const below = all.filter(
    ({ path }) => path.startsWith(`${pathname}/`) && !/[:*]/.test(path.slice(pathname.length)),
  );
  const others = [...new Set(below.map(({ method, path }) => `${method} ${path}`))].toSorted();
  const also = others.length === 0 ? "" : `; below it are ${others.join(", ")}`;
  return new ApiError("method_not_allowed", `This resource takes ${allow}${also}.`, {
    headers: { allow },
  });
}

/**
 * Takes the path already split, because a path may have thousands of segments and is compared with
 * every route.
 */
function pathMatches(pattern: string, segments: readonly string[]): boolean {
  const expected = splitPath(pattern);
  return (
    expected.length === segments.length &&
    expected.every((part, i) => (part.startsWith(":") ? segments[i] !== "" : part === segments[i]))
  );
}

const splitPath = (path: string): string[] =>
  (path.endsWith("/") ? path.slice(0, -1) : path).split("/");

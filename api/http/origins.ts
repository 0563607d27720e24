/**
 * Which pages may call a site from a browser: of `/v1` those of the configured origins
 * (Cross-Origin Resource Sharing, the Fetch standard), of the dashboard, whose users are signed in
 * by a cookie, only its own (against cross-site request forgery).
 */
import { ApiError } from "./errors.ts";
import { addVary, type ResponseSettings } from "./request-context.ts";

/** The response headers that such a page may read, besides those that every page may read. */
const EXPOSED = [
  "ETag",
  "Idempotent-Replayed",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Propagation",
  "X-RateLimit-Limit",
  "X-RateLimit-Policy",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
].join(", ");

const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
  // Chromium caches a preflight for two hours at most.
  "access-control-max-age": "7200",
};

/**
 * Allows requests from `origins`, or from all with `*`; returns the response of a preflight, which
 * needs no key and consumes nothing. The API uses no cookies, so a page can only use a key that it
 * already has. It may send every header: pages that are traced add some to all requests
 * (`traceparent`, `baggage`, `sentry-trace`), and browsers make none with one that is not allowed.
 */
export function allowOrigins(
  request: Request,
  set: ResponseSettings,
  origins: readonly string[],
): Response | undefined {
  if (origins.length === 0) return undefined;
  addVary(set.headers, "Origin");
  const origin = request.headers.get("origin");
  if (origin === null || !(origins.includes("*") || origins.includes(origin))) return undefined;
  set.headers["access-control-allow-origin"] = origin;
  set.headers["access-control-expose-headers"] = EXPOSED;
  const isPreflight =
    request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  if (!isPreflight) return undefined;
  Object.assign(set.headers, PREFLIGHT);
  const requested = request.headers.get("access-control-request-headers");
  if (requested !== null) set.headers["access-control-allow-headers"] = requested;
  set.status = 204;
  return new Response(null, { status: 204 });
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Throws `forbidden` for a request with an unsafe method that does not come from a page of
 * `origin`. Every current browser sends the origin of such a request; programs that do not send it
 * use API keys (OWASP Cross-Site Request Forgery Prevention Cheat Sheet: Fetch Metadata, Origin).
 */
export function requireSameOrigin(request: Request, origin: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  const site = request.headers.get("sec-fetch-site");
  const from = request.headers.get("origin");
  if (from === origin && (site === null || site === "same-origin")) return;
  throw new ApiError("forbidden", "This request does not come from a page of this site.");
}

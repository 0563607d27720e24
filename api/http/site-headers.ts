/** Headers of every response, and the check of every request's Host header. */
import { ApiError } from "./errors.ts";

/** A browser that has used https uses only https for a year (RFC 6797). */
const HSTS = "max-age=31536000";

/**
 * The headers of a site at `url`. Responses belong to one key or session, so caches must not store
 * them unless a route allows it.
 */
export const siteHeaders = (url: string): Record<string, string> => ({
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  ...(url.startsWith("https:") ? { "strict-transport-security": HSTS } : {}),
});

/**
 * Throws `invalid_request` for an invalid Host header. A repeated one may be read differently by a
 * proxy (RFC 9112 §3.2). With one that is not a host and port, the request has no valid URL. The
 * server joins repeated headers with commas, and no host name contains a comma.
 */
export function requireValidHost(request: Request): void {
  if (hasSeveralHosts(request)) {
    throw new ApiError("invalid_request", "The request has more than one Host header.");
  }
  if (!URL.canParse(request.url)) {
    throw new ApiError("invalid_request", "The Host header is not a host.");
  }
}

/** Whether the Host header is repeated. */
export const hasSeveralHosts = (request: Request): boolean =>
  request.headers.get("host")?.includes(",") === true;

/**
 * Decides what response a request for a short link gets: one pure function, so that every path into the process
 * decides alike. It never waits: a link that is not cached is a decision, `miss`.
 */
import { ALIAS_PATTERN } from "../shared/contracts/alias.ts";
import { DEFAULT_DOMAIN } from "../shared/contracts/link-record.ts";
import type { CachedLink } from "./cache/record.ts";

export type Decision =
  /** Respond with 302; a GET is a click. */
  | { kind: "redirect"; link: CachedLink }
  /** Request the link's password, or check it. */
  | { kind: "password"; link: CachedLink }
  | { kind: "expired" }
  | { kind: "not_found" }
  /** The path is malformed. */
  | { kind: "bad_request" }
  /** `/`, `/robots.txt`, `/favicon.ico`. */
  | { kind: "root" }
  | { kind: "robots" }
  | { kind: "favicon" }
  /** `/healthz`, on any host: load balancers ask for it by address. */
  | { kind: "healthy" }
  | { kind: "method_not_allowed"; allow: string }
  /** The link is not cached: it must be fetched, and the request decided again. */
  | { kind: "miss"; domain: string; alias: string };

export type ShortRequest = {
  method: string;
  /** Normalized path without query, e.g. `/abc`; undefined when malformed. */
  path: string | undefined;
  /** The domain that the Host header resolves to; undefined for a host that is not served here. */
  domain: string | undefined;
};

/** Reserved: never an alias (`shared/contracts/alias.ts`). */
const HEALTH_PATH = "/healthz";

const READ_METHODS = "GET, HEAD";

/**
 * Decides a request, given the cached link at its path: `null` for one known to be deleted, undefined for one that
 * is not cached. `now`, in Unix milliseconds, decides whether the link has expired.
 */
export function decide(
  request: ShortRequest,
  link: CachedLink | null | undefined,
  now: number,
): Decision {
  const { method, domain } = request;
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead && method !== "POST") return { kind: "method_not_allowed", allow: READ_METHODS };
  if (domain === undefined || link === undefined)
    return decideWithoutLink(request.path, domain, isRead);
  if (link === null) return { kind: "not_found" };
  if (link.expires_at !== null && link.expires_at <= now) return { kind: "expired" };
  if (link.password_hash !== null) return { kind: "password", link };
  // Only password forms are posted.
  if (!isRead) return { kind: "method_not_allowed", allow: READ_METHODS };
  return { kind: "redirect", link };
}

/** Decides without a cached link. The paths of built-in pages are never aliases. */
function decideWithoutLink(
  path: string | undefined,
  domain: string | undefined,
  isRead: boolean,
): Decision {
  if (path === undefined) return { kind: "bad_request" };
  const page = builtInPage(path);
  // Load balancers may ask by address.
  if (domain === undefined) return { kind: isRead && page === "healthy" ? page : "not_found" };
  if (page === undefined) {
    const alias = path.slice(1);
    return ALIAS_PATTERN.test(alias) ? { kind: "miss", domain, alias } : { kind: "not_found" };
  }
  // The root page is configured for the default domain only; a custom domain may not even be served here.
  if (page === "root" && domain !== DEFAULT_DOMAIN) return { kind: "not_found" };
  return isRead ? { kind: page } : { kind: "method_not_allowed", allow: READ_METHODS };
}

function builtInPage(path: string): "root" | "robots" | "favicon" | "healthy" | undefined {
  if (path === "/") return "root";
  if (path === "/robots.txt") return "robots";
  if (path === HEALTH_PATH) return "healthy";
  return path === "/favicon.ico" ? "favicon" : undefined;
}

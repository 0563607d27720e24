/**
 * What a request for a short link gets: one pure function, so that every way into the process gives
 * the same answer. It never waits; what needs waiting for comes back as a decision to wait.
 */
import { DEFAULT_DOMAIN } from "../shared/contracts/link-record.ts";
import type { CachedLink } from "./cache/record.ts";

export type Decision =
  /** Answer 302; a GET is a click. */
  | { kind: "redirect"; link: CachedLink }
  /** Ask for the link's password. */
  | { kind: "password"; link: CachedLink }
  | { kind: "expired" }
  | { kind: "not_found" }
  /** `/`, `/robots.txt`, `/favicon.ico`. */
  | { kind: "root" }
  | { kind: "robots" }
  | { kind: "favicon" }
  | { kind: "method_not_allowed"; allow: string }
  /** The link is not in memory: it must be fetched, and the request decided again. */
  | { kind: "miss"; domain: string; alias: string };

export type ShortRequest = {
  method: string;
  /** Path without query, e.g. `/abc`. */
  path: string;
  /** The domain the Host header means, or undefined for a host that is not served here. */
  domain: string | undefined;
};

const ALIAS_FORM = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
const READ_METHODS = "GET, HEAD";

/**
 * Decides a request, given the link at its path: `null` for one known not to exist, undefined for one not
 * known. `now` is in Unix milliseconds: expiry is judged as the request comes.
 */
export function decide(
  request: ShortRequest,
  link: CachedLink | null | undefined,
  now: number,
): Decision {
  const { method, domain } = request;
  const reading = method === "GET" || method === "HEAD";
  if (!reading && method !== "POST") return { kind: "method_not_allowed", allow: READ_METHODS };
  if (domain === undefined) return { kind: "not_found" };
  if (link === undefined) return decideWithoutLink(request.path, domain, reading);
  if (link === null) return { kind: "not_found" };
  if (link.expires_at !== null && link.expires_at <= now) return { kind: "expired" };
  if (link.password_hash !== null) return { kind: "password", link };
  // Only a password form is ever posted.
  if (!reading) return { kind: "method_not_allowed", allow: READ_METHODS };
  return { kind: "redirect", link };
}

/** No alias is that of a page. */
function decideWithoutLink(path: string, domain: string, reading: boolean): Decision {
  const page = pageAt(path);
  if (page === undefined) {
    const alias = path.slice(1);
    return ALIAS_FORM.test(alias) ? { kind: "miss", domain, alias } : { kind: "not_found" };
  }
  // Nobody has said what another host than our own should show there, if it is served here at all.
  if (page === "root" && domain !== DEFAULT_DOMAIN) return { kind: "not_found" };
  return reading ? { kind: page } : { kind: "method_not_allowed", allow: READ_METHODS };
}

/** A destination with the short URL's own query passed on. */
export function withQuery(destination: string, query: string): string {
  const url = new URL(destination);
  const given = new URLSearchParams(query);
  for (const name of new Set(given.keys())) {
    // The link's own parameters stand: a visitor cannot replace them.
    if (url.searchParams.has(name)) continue;
    for (const value of given.getAll(name)) url.searchParams.append(name, value);
  }
  return url.href;
}

function pageAt(path: string): "root" | "robots" | "favicon" | undefined {
  if (path === "/") return "root";
  if (path === "/robots.txt") return "robots";
  return path === "/favicon.ico" ? "favicon" : undefined;
}

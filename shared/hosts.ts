/** Host names: normalized as requests have them, and resolved. */
import { Resolver } from "node:dns/promises";

/** Returns a Host header or URL host in lower case, without port and trailing dot. */
export function normalizeHost(host: string): string {
  const lower = host.toLowerCase();
  const bare = lower.startsWith("[")
    ? lower.slice(0, lower.indexOf("]") + 1)
    : lower.replace(/:\d*$/, "");
  return bare.endsWith(".") ? bare.slice(0, -1) : bare;
}

/** Returns the hosts of the default short domain: that of `shortUrl`, and `further`. */
export const ownHosts = (shortUrl: string, further: readonly string[]): ReadonlySet<string> =>
  new Set([new URL(shortUrl).host, ...further].map(normalizeHost));

/** Whether a host or a domain above it is in the set. */
export function isWithin(domains: ReadonlySet<string>, host: string): boolean {
  for (let at = 0; ;) {
    if (domains.has(host.slice(at))) return true;
    const dot = host.indexOf(".", at);
    if (dot < 0) return false;
    at = dot + 1;
  }
}

const TRIES = 2;

/**
 * Creates a resolver that has asked nothing yet: each keeps every answer as long as the zone lets
 * it, also the one that there is no record. Asks `servers` (`address` or `address:port`), or those
 * of the system if empty.
 */
export function freshResolver(servers: readonly string[], timeoutMs: number): Resolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

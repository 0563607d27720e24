/** DNS resolvers for one look-up. */
import { Resolver } from "node:dns/promises";

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

/** Resolves the `Host` of requests to the domain of the requested link. */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { normalizeHost } from "../../shared/hosts.ts";

/**
 * A host as clicks record it, and the domain it resolves to; undefined when nothing is served
 * there.
 */
type HostResolution = { host: string; domain: string | undefined };

export type ResolveHost = (host: string) => HostResolution;

/** Maximum hosts whose resolution is cached. */
const HOSTS_MAX = 10_000;

const CUSTOM_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/**
 * Creates the function that resolves a host as it was sent; `hosts` are those of the default short
 * domain.
 */
export function createHostResolver(hosts: ReadonlySet<string>): ResolveHost {
  const resolutions = new Map<string, HostResolution>();
  // Nearly always the next request has the same host.
  let lastHost = "";
  let lastResolution: HostResolution = { host: "", domain: undefined };

  function resolveNewHost(host: string): HostResolution {
    const name = normalizeHost(host);
    const custom = CUSTOM_HOST.test(name) ? name : undefined;
    const resolution = { host: name, domain: hosts.has(name) ? DEFAULT_DOMAIN : custom };
    if (resolutions.size >= HOSTS_MAX) resolutions.clear();
    resolutions.set(host, resolution);
    return resolution;
  }

  return (host) => {
    if (host === lastHost) return lastResolution;
    lastHost = host;
    lastResolution = resolutions.get(host) ?? resolveNewHost(host);
    return lastResolution;
  };
}

/** Caps on the open connections of one client. */
import { type AddressGroups, addressGroups } from "../../shared/address-group.ts";

/** The cap of a site as a multiple of that of one of its networks: see {@link AddressGroups}. */
export const SITE_CONNECTIONS_FACTOR = 4;

/**
 * Why a connection is rejected: too many in total, of its network, or of its site; an invalid PROXY
 * header.
 */
export const REJECTION_REASONS = ["total", "network", "site", "proxy_header"] as const;

export type RejectionReason = (typeof REJECTION_REASONS)[number];

export type ConnectionCapsOptions = {
  /** Connections per network; {@link SITE_CONNECTIONS_FACTOR} times as many per site. */
  perNetworkMax: number;
  /** Whether an address has no cap: a proxy, which connects for many clients. */
  isExempt: (address: string) => boolean;
};

export type ConnectionCaps = {
  /**
   * Counts a connection of `address`. Returns the groups that count it, to be released when it
   * closes; undefined for an exempt address; a reason when a cap is reached.
   */
  acquire(address: string): AddressGroups | undefined | RejectionReason;
  release(groups: AddressGroups): void;
};

/** Creates the caps. They use memory only for clients with open connections. */
export function createConnectionCaps({
  perNetworkMax,
  isExempt,
}: ConnectionCapsOptions): ConnectionCaps {
  const networks = new Map<string, number>();
  const sites = new Map<string, number>();
  const perSiteMax = perNetworkMax * SITE_CONNECTIONS_FACTOR;

  return {
    acquire(address) {
      if (isExempt(address)) return undefined;
      const groups = addressGroups(address);
      const { network, site } = groups;
      const networkCount = networks.get(network) ?? 0;
      if (networkCount >= perNetworkMax) return "network";
      if (site !== network) {
        const siteCount = sites.get(site) ?? 0;
        if (siteCount >= perSiteMax) return "site";
        sites.set(site, siteCount + 1);
      }
      networks.set(network, networkCount + 1);
      return groups;
    },
    release({ network, site }) {
      decrement(networks, network);
      if (site !== network) decrement(sites, site);
    },
  };
}

function decrement(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}

/** Counts events per client, by the groups of its address: see `addressGroups`. */
import { addressGroups } from "../../shared/address-group.ts";
import { FixedWindow } from "../../shared/fixed-window.ts";

/** The limit of a site (a /48 in IPv6) as a multiple of that of one of its networks (a /64). */
const SITE_FACTOR = 10;

export type AddressWindow = {
  /** Whether the address has reached its limit. Scopes are counted separately. */
  exhausted(address: string, scope?: string): boolean;
  /** Counts one event. */
  consume(address: string, scope?: string): void;
};

/**
 * `limit` is per network and `seconds`; at most `keysMax` networks, and as many sites, are counted.
 */
export function createAddressWindow(options: {
  limit: number;
  seconds: number;
  keysMax: number;
}): AddressWindow {
  const networks = new FixedWindow(options);
  const sites = new FixedWindow({ ...options, limit: options.limit * SITE_FACTOR });
  return {
    exhausted(address, scope = "") {
      const { network, site } = addressGroups(address);
      return networks.exhausted(`${scope} ${network}`) || sites.exhausted(`${scope} ${site}`);
    },
    consume(address, scope = "") {
      const { network, site } = addressGroups(address);
      networks.consume(`${scope} ${network}`);
      // An IPv4 address is its own network and site, and has the network's limit.
      if (site !== network) sites.consume(`${scope} ${site}`);
    },
  };
}

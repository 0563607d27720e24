/** Counts events per client, by the groups of its address: see `addressGroups`. */
import { addressGroups } from "../../shared/addresses.ts";
import { FixedWindow } from "../../shared/local-limits.ts";

/** The limit of a site (a /48 in IPv6) as a multiple of that of one of its networks (a /64). */
const SITE_FACTOR = 10;

export class AddressWindow {
  readonly #networks: FixedWindow;
  readonly #sites: FixedWindow;

  /** `limit` is per network and `seconds`; `keysMax` networks, and as many sites, are counted. */
  constructor(window: { limit: number; seconds: number; keysMax: number }) {
    this.#networks = new FixedWindow(window);
    this.#sites = new FixedWindow({ ...window, limit: window.limit * SITE_FACTOR });
  }

  /** Whether the address has reached its limit. Scopes are counted separately. */
  isExhausted(address: string, scope = ""): boolean {
    const { network, site } = addressGroups(address);
    return (
      this.#networks.isExhausted(`${scope} ${network}`) ||
      this.#sites.isExhausted(`${scope} ${site}`)
    );
  }

  consume(address: string, scope = ""): void {
    const { network, site } = addressGroups(address);
    this.#networks.consume(`${scope} ${network}`);
    // An IPv4 address is its own network and site, and has the network's limit.
    if (site !== network) this.#sites.consume(`${scope} ${site}`);
  }
}

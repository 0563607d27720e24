/**
 * The bytes of files that one network may fetch without a key or a session: of the dashboard and of
 * the reference. They are served from memory, so all that they cost is sending them.
 */
import { addressGroups } from "../../shared/address-group.ts";
import type { Bounds } from "../../shared/budgets.ts";
import { Credit } from "../../shared/credit.ts";
import { ApiError } from "../http/errors.ts";
import { inSeconds } from "../http/rate-limit.ts";

/**
 * What a network may have at once: the dashboard's first visits of hundreds of people behind one
 * address. It comes back within a minute.
 */
const KIB_MAX = 256 * 1024;
const KIB_PER_SECOND = 4 * 1024;

/** What a response costs beside its bytes, of which it may have none. */
const RESPONSE_KIB = 2;

/** The limit of an IPv6 site (a /48), which holds many networks, as a multiple of one network's. */
const SITE_FACTOR = 10;

/** Maximum networks, and as many sites, remembered. */
const KEYS_MAX = 50_000;

const NETWORK: Bounds = { atOnce: KIB_MAX, perSecond: KIB_PER_SECOND };
const SITE: Bounds = { atOnce: SITE_FACTOR * KIB_MAX, perSecond: SITE_FACTOR * KIB_PER_SECOND };

export class FileBudget {
  readonly #networks;
  readonly #sites;

  constructor(now?: () => number) {
    this.#networks = new Credit(KEYS_MAX, now);
    this.#sites = new Credit(KEYS_MAX, now);
  }

  /** Charges a response of so many bytes; throws `rate_limited` when the network has none left. */
  charge(address: string, bytes: number): void {
    const { network, site } = addressGroups(address);
    const waitMs = Math.max(
      this.#networks.waitMs(network, NETWORK),
      this.#sites.waitMs(site, SITE),
    );
    if (waitMs > 0) {
      const wait = Math.ceil(waitMs / 1_000);
      throw new ApiError(
        "rate_limited",
        `Too many files were fetched from your network. Try again in ${inSeconds(wait)}.`,
        { retryAfterSeconds: wait },
      );
    }
    const kib = RESPONSE_KIB + bytes / 1024;
    this.#networks.spend(network, kib, NETWORK);
    this.#sites.spend(site, kib, SITE);
  }
}

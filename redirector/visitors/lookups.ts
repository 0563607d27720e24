/**
 * Protects the links log against scans: limits the rate at which one network requests nonexistent
 * aliases, and the number of lookups in flight, per network and in total.
 */
import { addressGroups } from "../../shared/addresses.ts";
import { KeyCounts } from "../../shared/local-limits.ts";
import { AddressWindow } from "./address-window.ts";

/**
 * Requests for aliases without a link, per network; a site may make `SITE_FACTOR` times as many.
 */
const MISSES = { limit: 120, seconds: 60, keysMax: 50_000 };

const IN_FLIGHT_MAX = 512;

/**
 * Maximum lookups in flight per network: an eighth of the total. A lookup takes a millisecond, so
 * thousands of people behind one address stay below it. A client that opens many connections to
 * request as much as possible does not.
 */
const RUNNING_PER_NETWORK_MAX = 64;

type LookupOutcome = "found" | "not_found" | "failed" | "rate_limited" | "overloaded";

export class Lookups {
  readonly #misses = new AddressWindow(MISSES);
  /** By network. */
  readonly #running = new KeyCounts();
  readonly #outcomes: Record<LookupOutcome, number> = {
    found: 0,
    not_found: 0,
    failed: 0,
    rate_limited: 0,
    overloaded: 0,
  };

  /**
   * Acquires a lookup for an address. Returns a function that releases it, to be called with
   * whether there was a link, or undefined when the lookup failed. Returns `rate_limited` when the
   * address's network had too many misses, and `overloaded` when too many lookups are in flight, of
   * this network or in total.
   */
  acquire(address: string): ((found: boolean | undefined) => void) | "rate_limited" | "overloaded" {
    if (this.#misses.isExhausted(address)) {
      this.#outcomes.rate_limited++;
      return "rate_limited";
    }
    const { network } = addressGroups(address);
    const running = this.#running;
    if (running.total >= IN_FLIGHT_MAX || running.of(network) >= RUNNING_PER_NETWORK_MAX) {
      this.#outcomes.overloaded++;
      return "overloaded";
    }
    running.add(network, 1);
    return (found) => this.#release(address, network, found);
  }

  /** Current lookups in flight, and the outcomes of lookups since the start. */
  stats(): { inFlight: number; outcomes: Readonly<Record<LookupOutcome, number>> } {
    return { inFlight: this.#running.total, outcomes: this.#outcomes };
  }

  #release(address: string, network: string, found: boolean | undefined): void {
    this.#running.add(network, -1);
    this.#outcomes[found === undefined ? "failed" : found ? "found" : "not_found"]++;
    // A failed lookup does not show whether there is a link, so it does not count against the
    // address.
    if (found === false) this.#misses.consume(address);
  }
}

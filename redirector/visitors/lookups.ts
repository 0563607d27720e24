/**
 * Protects the links log against scans: limits the rate at which one network requests nonexistent
 * aliases, and the number of lookups in flight, per network and in total.
 */
import { addressGroups } from "../../shared/address-group.ts";
import { createAddressWindow } from "./address-window.ts";

/**
 * Requests for aliases without a link, per network; a site may make ten times as many
 * (`SITE_FACTOR`).
 */
const MISSES = { limit: 120, seconds: 60, keysMax: 50_000 };

/** Maximum lookups in flight. */
const IN_FLIGHT_MAX = 512;

/**
 * Maximum lookups in flight per network: an eighth of the total. A lookup takes a millisecond, so
 * thousands of people behind one address stay below it. A client that opens many connections to
 * request as much as possible does not.
 */
const RUNNING_PER_NETWORK_MAX = 64;

type LookupOutcome = "found" | "not_found" | "failed" | "rate_limited" | "overloaded";

export type Lookups = {
  /**
   * Acquires a lookup for an address. Returns a function that releases it, to be called with
   * whether there was a link, or undefined when the lookup failed. Returns `rate_limited` when the
   * address's network had too many misses, and `overloaded` when too many lookups are in flight, of
   * this network or in total.
   */
  acquire(address: string): ((found: boolean | undefined) => void) | "rate_limited" | "overloaded";
  /** Current lookups in flight, and the outcomes of lookups since the start. */
  stats(): { inFlight: number; outcomes: Readonly<Record<LookupOutcome, number>> };
};

export function createLookups(): Lookups {
  const misses = createAddressWindow(MISSES);
  const runningByNetwork = new Map<string, number>();
  let running = 0;
  const outcomes = { found: 0, not_found: 0, failed: 0, rate_limited: 0, overloaded: 0 };
  return {
    acquire(address) {
      if (misses.exhausted(address)) {
        outcomes.rate_limited++;
        return "rate_limited";
      }
      const { network } = addressGroups(address);
      const networkRunning = runningByNetwork.get(network) ?? 0;
      if (running >= IN_FLIGHT_MAX || networkRunning >= RUNNING_PER_NETWORK_MAX) {
        outcomes.overloaded++;
        return "overloaded";
      }
      running++;
      runningByNetwork.set(network, networkRunning + 1);
      return (found) => {
        running--;
        outcomes[found === undefined ? "failed" : found ? "found" : "not_found"]++;
        const remaining = (runningByNetwork.get(network) ?? 1) - 1;
        if (remaining > 0) runningByNetwork.set(network, remaining);
        else runningByNetwork.delete(network);
        // A failed lookup does not show whether there is a link, so it does not count against the
        // address.
        if (found === false) misses.consume(address);
      };
    },
    stats: () => ({ inFlight: running, outcomes }),
  };
}

/**
 * Guards the links feed against scans: whoever asks for many aliases that do not exist is refused for
 * a while, and no more look-ups run at a time than NATS should bear from one process.
 */
import { createFixedWindow } from "../shared/fixed-window.ts";

/** Aliases without a link that one address may ask for. */
const MISSES = { allowed: 120, seconds: 60, keysMax: 50_000 };

/** Look-ups at a time. */
const RUNNING_MAX = 512;

export type Lookups = {
  /**
   * Admits a look-up for an address; what is returned must be told whether there was a link. Refuses an
   * address with too many misses, and anyone while too many look-ups run.
   */
  admit(address: string): ((found: boolean) => void) | "too_many" | "unavailable";
  /** Look-ups running now; those admitted and those refused since the start. */
  stats(): { running: number; admitted: number; refused: number };
};

export function createLookups(): Lookups {
  const misses = createFixedWindow(MISSES);
  let running = 0;
  let admitted = 0;
  let refused = 0;
  return {
    admit(address) {
      if (misses.exhausted(address) || running >= RUNNING_MAX) {
        refused++;
        return misses.exhausted(address) ? "too_many" : "unavailable";
      }
      running++;
      admitted++;
      return (found) => {
        running--;
        if (!found) misses.spend(address);
      };
    },
    stats: () => ({ running, admitted, refused }),
  };
}

/** What keys have left of budgets that time refills, in this process's memory. */
import { LRUCache } from "lru-cache";

import type { Bounds } from "./budgets.ts";

/** What was left at an instant; below 0 while more has been taken. */
type Balance = { left: number; at: number };

/** Time is monotonic, so that a clock that is set back refuses nobody. */
export class Credit {
  readonly #balances: LRUCache<string, Balance>;
  readonly #now: () => number;

  /** Beyond `max` keys, the one used least recently has all of its budget again. */
  constructor(max: number, now = () => performance.now()) {
    this.#balances = new LRUCache({ max });
    this.#now = now;
  }

  left(key: string, { atOnce, perSecond }: Bounds): number {
    const known = this.#balances.get(key);
    if (known === undefined) return atOnce;
    return Math.min(atOnce, known.left + ((this.#now() - known.at) / 1_000) * perSecond);
  }

  /** Takes units, even if fewer are left; gives back what is negative. */
  spend(key: string, units: number, bounds: Bounds): void {
    this.#balances.set(key, { left: this.left(key, bounds) - units, at: this.#now() });
  }

  /** Milliseconds until more than `kept` is left; 0 if it is. */
  waitMs(key: string, bounds: Bounds, kept = 0): number {
    const left = this.left(key, bounds);
    // A fraction of a unit is not enough to begin with.
    return left >= kept + 1 ? 0 : Math.ceil(((kept + 1 - left) / bounds.perSecond) * 1_000);
  }
}

/**
 * Credit by key that time refills: a token bucket that may be overdrawn, in this process's memory.
 * Time is monotonic, so that a clock that is set back refuses nobody.
 */
import { LRUCache } from "lru-cache";

export type CreditTerms = {
  /** Units of credit that a key has at most, and to begin with. */
  most: number;
  /** Milliseconds in which it gets a unit back. */
  msPerUnit: number;
};

export type Credit = {
  /** Milliseconds until the key has a unit left; 0 if it has. */
  waitMs(key: string, terms: CreditTerms): number;
  /** Takes units, even if fewer are left; never leaves less than `least`. */
  take(key: string, units: number, terms: CreditTerms, least?: number): void;
};

/**
 * Remembers `keysMax` keys; beyond, the one seen least recently starts again with all its credit.
 */
export function createCredit(keysMax: number, now = () => performance.now()): Credit {
  /** What each key had left at some instant; below 0 while it has taken more. */
  const keys = new LRUCache<string, { left: number; at: number }>({ max: keysMax });

  function leftOf(key: string, { most, msPerUnit }: CreditTerms): number {
    const known = keys.get(key);
    return known === undefined ? most : Math.min(most, known.left + (now() - known.at) / msPerUnit);
  }

  return {
    waitMs(key, terms) {
      const left = leftOf(key, terms);
      return left >= 1 ? 0 : Math.ceil((1 - left) * terms.msPerUnit);
    },
    take(key, units, terms, least = -Infinity) {
      keys.set(key, { left: Math.max(least, leftOf(key, terms) - units), at: now() });
    },
  };
}

/**
 * Limits by key, in this process's memory: windows of a fixed length, budgets that time refills,
 * and counts of what goes on now.
 */
import { LRUCache } from "lru-cache";

import type { Bounds } from "./budgets.ts";

export type FixedWindowBounds = {
  /** Events allowed per window. */
  limit: number;
  seconds: number;
  /**
   * Maximum keys stored; beyond, the least recently used one is evicted and starts with a new
   * window.
   */
  keysMax: number;
  /** The clock, in Unix milliseconds. */
  now?: () => number;
};

type FixedWindowState = {
  spent: number;
  /** Unix milliseconds at which the window closes. */
  resetsAt: number;
};

export class FixedWindow {
  readonly #limit: number;
  readonly #lengthMs: number;
  readonly #now: () => number;
  readonly #windows: LRUCache<string, FixedWindowState>;

  constructor({ limit, seconds, keysMax, now = Date.now }: FixedWindowBounds) {
    this.#limit = limit;
    this.#lengthMs = seconds * 1_000;
    this.#now = now;
    this.#windows = new LRUCache({ max: keysMax });
  }

  /** Whether the key's window allows no more events. */
  isExhausted(key: string): boolean {
    return this.#current(key).spent >= this.#limit;
  }

  /** The key's window; consumes nothing. */
  state(key: string): FixedWindowState {
    return { ...this.#current(key) };
  }

  /**
   * Consumes one event if the limit allows it. Returns whether it did, and the window afterwards.
   */
  consume(key: string): FixedWindowState & { granted: boolean } {
    const state = this.#current(key);
    const granted = state.spent < this.#limit;
    if (granted) {
      state.spent++;
      this.#windows.set(key, state);
    }
    return { ...state, granted };
  }

  #current(key: string): FixedWindowState {
    const open = this.#windows.get(key);
    return open !== undefined && open.resetsAt > this.#now()
      ? open
      : { spent: 0, resetsAt: this.#now() + this.#lengthMs };
  }
}

/** Counts by key, and of all; a key with a count of 0 takes no memory. */
export class KeyCounts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, change: 1 | -1): void {
    this.#total += change;
    const count = this.of(key) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

/** The rest of a budget at an instant; below 0 while more has been taken. */
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

/**
 * A fixed-window rate limit by key, in this process's memory. A window opens with the first event
 * after the previous one ended.
 */
import { LRUCache } from "lru-cache";

export type FixedWindowBounds = {
  /** Events allowed per window. */
  limit: number;
  seconds: number;
  /**
   * Most keys stored; beyond, the least recently used one is evicted and starts with a new window.
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
  exhausted(key: string): boolean {
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

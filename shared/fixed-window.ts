/**
 * A fixed-window rate limit by key, in this process's memory. A window opens with the first event
 * after the previous one ended.
 */
import { LRUCache } from "lru-cache";

export type FixedWindowOptions = {
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
  used: number;
  /** Unix milliseconds at which the window closes. */
  resetsAt: number;
};

export type FixedWindow = {
  /** Returns whether the key's window allows no more events. */
  exhausted(key: string): boolean;
  /** Returns the key's window without consuming from it. */
  state(key: string): FixedWindowState;
  /**
   * Consumes one event if the limit allows it. Returns whether it did, and the window afterwards.
   */
  consume(key: string): FixedWindowState & { granted: boolean };
};

export function createFixedWindow({
  limit,
  seconds,
  keysMax,
  now = Date.now,
}: FixedWindowOptions): FixedWindow {
  const windows = new LRUCache<string, FixedWindowState>({ max: keysMax });

  function current(key: string): FixedWindowState {
    const open = windows.get(key);
    return open !== undefined && open.resetsAt > now()
      ? open
      : { used: 0, resetsAt: now() + seconds * 1_000 };
  }

  return {
    exhausted: (key) => current(key).used >= limit,
    state: (key) => ({ ...current(key) }),
    consume(key) {
      const state = current(key);
      const granted = state.used < limit;
      if (granted) {
        state.used++;
        windows.set(key, state);
      }
      return { ...state, granted };
    },
  };
}

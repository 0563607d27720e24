/**
 * Counts events by key in windows of a fixed length, in this process's memory. A window opens with
 * the first event after the previous one ended.
 */
import { LRUCache } from "lru-cache";

export type FixedWindowOptions = {
  /** Events a window takes. */
  allowed: number;
  seconds: number;
  /** Keys remembered; beyond, the least recently seen one starts anew. */
  keysMax: number;
  /** The clock, in Unix milliseconds. */
  now?: () => number;
};

type FixedWindowState = {
  spent: number;
  /** Unix milliseconds at which the window closes. */
  resetsAt: number;
};

export type FixedWindow = {
  /** Whether the key's window takes no more. */
  exhausted(key: string): boolean;
  /** Spends one where one is left; says whether it was, and how the window then stands. */
  spend(key: string): FixedWindowState & { granted: boolean };
};

export function createFixedWindow({
  allowed,
  seconds,
  keysMax,
  now = Date.now,
}: FixedWindowOptions): FixedWindow {
  const windows = new LRUCache<string, FixedWindowState>({ max: keysMax });

  function current(key: string): FixedWindowState {
    const open = windows.get(key);
    return open !== undefined && open.resetsAt > now()
      ? open
      : { spent: 0, resetsAt: now() + seconds * 1_000 };
  }

  return {
    exhausted: (key) => current(key).spent >= allowed,
    spend(key) {
      const state = current(key);
      const granted = state.spent < allowed;
      if (granted) {
        state.spent++;
        windows.set(key, state);
      }
      return { ...state, granted };
    },
  };
}

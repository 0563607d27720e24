/**
 * The limit for requests without a valid key, by client address. Kept in this process alone: it
 * guards the service against guessing and noise, and must not cost a query itself.
 */
import { LRUCache } from "lru-cache";

import type { LimitWindow } from "./windows.ts";

/** Requests without a valid key that one address may make a minute. */
const ALLOWED = 60;
const SECONDS = 60;

/** Addresses remembered; beyond, the least recently seen one starts anew. */
const ADDRESSES_MAX = 50_000;

export type AnonymousLimit = {
  /** Whether the address has no request left. */
  exhausted(address: string): boolean;
  /** Spends one request where one is left; returns the window, and whether the request was granted. */
  spend(address: string): { window: LimitWindow; granted: boolean };
};

/** Creates the limiter; `now` gives Unix milliseconds. */
export function createAnonymousLimit(now: () => number = Date.now): AnonymousLimit {
  const windows = new LRUCache<string, { spent: number; resetsAt: number }>({ max: ADDRESSES_MAX });

  function current(address: string): { spent: number; resetsAt: number } {
    const open = windows.get(address);
    return open !== undefined && open.resetsAt > now()
      ? open
      : { spent: 0, resetsAt: now() + SECONDS * 1_000 };
  }

  return {
    exhausted: (address) => current(address).spent >= ALLOWED,
    spend(address) {
      const state = current(address);
      const granted = state.spent < ALLOWED;
      if (granted) {
        state.spent++;
        windows.set(address, state);
      }
      return { window: { name: "address", allowed: ALLOWED, seconds: SECONDS, ...state }, granted };
    },
  };
}

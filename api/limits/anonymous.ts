/**
 * The limit for requests without a valid key, by client address. Kept in this process alone: it
 * guards the service against guessing and noise, and must not cost a query itself.
 */
import { createFixedWindow } from "../../shared/fixed-window.ts";
import { type LimitWindow, rateLimited, rateLimitHeaders } from "./windows.ts";

/** Requests without a valid key that one address may make a minute. */
const ALLOWED = 60;
const SECONDS = 60;
const ADDRESSES_MAX = 50_000;

export type AnonymousLimit = {
  /** Whether the address has no request left. */
  exhausted(address: string): boolean;
  /** Spends one request where one is left; returns the window, and whether the request was granted. */
  spend(address: string): { window: LimitWindow; granted: boolean };
  /** Spends one request and describes the window in the headers; throws `rate_limited` when none is left. */
  admit(address: string, headers: Record<string, string | number>): void;
};

export function createAnonymousLimit(): AnonymousLimit {
  const limit = createFixedWindow({ allowed: ALLOWED, seconds: SECONDS, keysMax: ADDRESSES_MAX });
  function spend(address: string) {
    const { granted, ...state } = limit.spend(address);
    return { window: { name: "address", allowed: ALLOWED, seconds: SECONDS, ...state }, granted };
  }

  return {
    exhausted: limit.exhausted,
    spend,
    admit(address, headers) {
      const { window, granted } = spend(address);
      Object.assign(headers, rateLimitHeaders(window));
      if (!granted) throw rateLimited(window, Date.now());
    },
  };
}

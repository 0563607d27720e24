/** A limit kept in this process alone, so that it costs no query. */
import { createFixedWindow } from "../../shared/fixed-window.ts";
import { type LimitWindow, rateLimited, rateLimitHeaders } from "./windows.ts";

type LocalLimitOptions = {
  /** What the window is called. */
  name: string;
  /** Requests that a key may make in so many seconds. */
  allowed: number;
  seconds: number;
  /** Keys remembered; beyond, the least recently seen one starts anew. */
  keysMax: number;
};

export type LocalLimit = {
  /** Whether the key has no request left. */
  exhausted(key: string): boolean;
  /** Spends one request where one is left; returns the window, and whether the request was granted. */
  spend(key: string): { window: LimitWindow; granted: boolean };
  /** Spends one request and describes the window in the headers; throws `rate_limited` when none is left. */
  admit(key: string, headers: Record<string, string | number>): void;
};

export function createLocalLimit({ name, ...bounds }: LocalLimitOptions): LocalLimit {
  const { allowed, seconds } = bounds;
  const limit = createFixedWindow(bounds);

  function spend(key: string) {
    const { granted, ...state } = limit.spend(key);
    return { window: { name, allowed, seconds, ...state }, granted };
  }

  return {
    exhausted: limit.exhausted,
    spend,
    admit(key, headers) {
      const { window, granted } = spend(key);
      Object.assign(headers, rateLimitHeaders(window));
      if (!granted) throw rateLimited(window, Date.now());
    },
  };
}

/** A rate limit held in this process's memory, which costs no query. */
import { createFixedWindow } from "../../shared/fixed-window.ts";
import { type LimitWindow, rateLimited, rateLimitHeaders } from "../http/rate-limit.ts";

type LocalLimitOptions = {
  /** The name of the window. */
  name: string;
  /** Requests that one key may make in `seconds`. */
  limit: number;
  seconds: number;
  /**
   * Maximum keys remembered; beyond that, the least recently seen key is dropped and starts a new
   * window.
   */
  keysMax: number;
};

export type LocalLimit = {
  /** Whether the key has no request left. */
  exhausted(key: string): boolean;
  /** The key's current window; consumes nothing. */
  state(key: string): LimitWindow;
  /**
   * Consumes one request if one is left; returns the window, and whether the request was granted.
   */
  consume(key: string): { window: LimitWindow; granted: boolean };
  /** Consumes one request and sets the headers; throws `rate_limited` when none is left. */
  enforce(key: string, headers: Record<string, string | number>): void;
};

export function createLocalLimit({ name, ...bounds }: LocalLimitOptions): LocalLimit {
  const { limit, seconds } = bounds;
  const window = createFixedWindow(bounds);

  function consume(key: string) {
    const { granted, ...state } = window.consume(key);
    return { window: { name, limit, seconds, ...state }, granted };
  }

  return {
    exhausted: window.exhausted,
    state: (key) => ({ name, limit, seconds, ...window.state(key) }),
    consume,
    enforce(key, headers) {
      const { window: state, granted } = consume(key);
      Object.assign(headers, rateLimitHeaders(state));
      if (!granted) throw rateLimited(state, Date.now());
    },
  };
}

/**
 * Rate-limit windows, the four headers that describe one, and the 429. A window opens with the
 * first request after the previous window closed, and closes a fixed time later.
 */
import { ApiError } from "./errors.ts";

export type LimitWindow = {
  /** `minute`, `day`, `burst`, an endpoint such as `POST /v1/links`, or `address`. */
  name: string;
  /** Maximum requests that the window grants. */
  limit: number;
  /** The window's length. */
  seconds: number;
  used: number;
  /** When the window closes, in Unix milliseconds. */
  resetsAt: number;
};

export type RateLimitHeaders = Record<
  | "x-ratelimit-limit"
  | "x-ratelimit-remaining"
  | "x-ratelimit-reset"
  | "x-ratelimit-policy"
  | "ratelimit"
  | "ratelimit-policy",
  string
>;

/** How many more requests the window grants. */
export const remaining = (window: LimitWindow): number => Math.max(0, window.limit - window.used);

/** The window with the lowest share left; of equal windows, the one that closes last. */
export function mostConstrained(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows.reduce<LimitWindow | undefined>((chosen, window) => {
    if (chosen === undefined) return window;
    const difference = remaining(window) / window.limit - remaining(chosen) / chosen.limit;
    if (difference < 0) return window;
    return difference === 0 && window.resetsAt > chosen.resetsAt ? window : chosen;
  }, undefined);
}

/** Of the exhausted windows, the one that closes last. */
export function exhausted(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows
    .filter((window) => remaining(window) === 0)
    .toSorted((a, b) => b.resetsAt - a.resetsAt)[0];
}

/**
 * The headers that describe `window`: our own, and the pair of the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers-10), whose reset is in seconds from `now` (Unix
 * milliseconds). Resets are rounded up, so that no client retries too early.
 */
export const rateLimitHeaders = (window: LimitWindow, now = Date.now()): RateLimitHeaders => ({
  "x-ratelimit-limit": String(window.limit),
  "x-ratelimit-remaining": String(remaining(window)),
  "x-ratelimit-reset": String(Math.ceil(window.resetsAt / 1_000)),
  "x-ratelimit-policy": `${window.limit};w=${window.seconds}`,
  ratelimit: `"${window.name}";r=${remaining(window)};t=${Math.max(0, Math.ceil((window.resetsAt - now) / 1_000))}`,
  "ratelimit-policy": `"${window.name}";q=${window.limit};w=${window.seconds}`,
});

/** Whole seconds, at least one, from `now` to `instant` (both in Unix milliseconds). */
export const secondsUntil = (instant: number, now: number): number =>
  Math.max(1, Math.ceil((instant - now) / 1_000));

/** `1 second`, `2 seconds`. */
export const inSeconds = (count: number): string => `${count} second${count === 1 ? "" : "s"}`;

/** The 429 response for a window that has no request left. */
export function rateLimited(window: LimitWindow, now: number): ApiError {
  const wait = secondsUntil(window.resetsAt, now);
  const limit = `${window.limit} requests in ${inSeconds(window.seconds)}`;
  return new ApiError(
    "rate_limited",
    `Rate limit exceeded: ${limit}. Try again in ${inSeconds(wait)}.`,
    { retryAfterSeconds: wait },
  );
}

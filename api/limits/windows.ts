/**
 * Rate-limit windows and the four headers that describe one of them. A window opens with the first
 * request after the previous one ended and closes a fixed time later.
 */
import { ApiError } from "../http/errors.ts";

export type LimitWindow = {
  /** `minute`, `day`, `burst`, an endpoint such as `POST /v1/links`, or `address`. */
  name: string;
  /** The most requests the window takes. */
  allowed: number;
  /** Its length. */
  seconds: number;
  spent: number;
  /** Unix milliseconds at which it closes. */
  resetsAt: number;
};

export type RateLimitHeaders = Record<
  "x-ratelimit-limit" | "x-ratelimit-remaining" | "x-ratelimit-reset" | "x-ratelimit-policy",
  string
>;

/** How many requests the window still takes. */
export const remaining = (window: LimitWindow): number =>
  Math.max(0, window.allowed - window.spent);

/** The window nearest to its end: with the lowest share left; of equals the one that closes last. */
export function tightest(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows.reduce<LimitWindow | undefined>((chosen, window) => {
    if (chosen === undefined) return window;
    const difference = remaining(window) / window.allowed - remaining(chosen) / chosen.allowed;
    if (difference < 0) return window;
    return difference === 0 && window.resetsAt > chosen.resetsAt ? window : chosen;
  }, undefined);
}

/** Of the windows that take no further request, the one with the longest wait. */
export function refusing(windows: readonly LimitWindow[]): LimitWindow | undefined {
  return windows
    .filter((window) => remaining(window) === 0)
    .toSorted((a, b) => b.resetsAt - a.resetsAt)[0];
}

/** The headers that describe `window`. Rounded up, so that a client never comes too early. */
export const rateLimitHeaders = (window: LimitWindow): RateLimitHeaders => ({
  "x-ratelimit-limit": String(window.allowed),
  "x-ratelimit-remaining": String(remaining(window)),
  "x-ratelimit-reset": String(Math.ceil(window.resetsAt / 1_000)),
  "x-ratelimit-policy": `${window.allowed};w=${window.seconds}`,
});

/** Whole seconds, at least one, until the instant `at` (both Unix milliseconds). */
export const secondsUntil = (at: number, now: number): number =>
  Math.max(1, Math.ceil((at - now) / 1_000));

/** The 429 of a window that took its last request. */
export function rateLimited(window: LimitWindow, now: number): ApiError {
  const wait = secondsUntil(window.resetsAt, now);
  return new ApiError(
    "rate_limited",
    `Rate limit exceeded: ${window.allowed} requests in ${window.seconds} seconds. Try again in ${wait} seconds.`,
    { retryAfterSeconds: wait },
  );
}

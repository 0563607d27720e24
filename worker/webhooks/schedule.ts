/** When a failed delivery is attempted again. */
import { HOUR_MS, MINUTE_MS } from "../../shared/durations.ts";

const SECOND_MS = 1_000;

/** The delay after each failed attempt; after the last one the delivery has failed for good. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];

/** The longest delay, which `Retry-After` cannot exceed either. */
const DELAY_MAX_MS = 24 * HOUR_MS;

/** Delays vary by this part, so that what failed together is not attempted together again. */
const JITTER = 0.2;

/**
 * The milliseconds until the next attempt after `attempts` failed ones; undefined when none is
 * left. A receiver's `Retry-After` can prolong the delay. `random` is from 0 to below 1.
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  if (delayMs === undefined) return undefined;
  const jittered = delayMs * (1 + JITTER * random);
  return Math.round(Math.min(DELAY_MAX_MS, Math.max(jittered, retryAfterMs ?? 0)));
}

const SECONDS = /^\d{1,9}$/;

/** Parses `Retry-After`, seconds or a date (RFC 9110 §10.2.3); undefined when it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) return Number(value) * SECOND_MS;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

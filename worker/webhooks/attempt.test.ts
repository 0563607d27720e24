import { expect, test } from "bun:test";

import { HOUR_MS } from "../../shared/durations.ts";
import { parseRetryAfter, RETRY_DELAYS_MS, retryDelayMs } from "./attempt.ts";

test("delays are those of the table, up to a fifth longer, and end", () => {
  for (const [index, delayMs] of RETRY_DELAYS_MS.entries()) {
    expect(retryDelayMs(index + 1, undefined, 0)).toBe(delayMs);
    const longest = retryDelayMs(index + 1, undefined, 0.999) ?? 0;
    expect(longest).toBeGreaterThan(Math.min(delayMs * 1.19, 24 * HOUR_MS - 1));
    expect(longest).toBeLessThanOrEqual(Math.min(delayMs * 1.2, 24 * HOUR_MS));
  }
  expect(retryDelayMs(RETRY_DELAYS_MS.length + 1, 1, 0)).toBeUndefined();
});

test("Retry-After prolongs a delay, up to a day, and never shortens it", () => {
  expect(retryDelayMs(1, 60_000, 0)).toBe(60_000);
  expect(retryDelayMs(1, 1, 0)).toBe(5_000);
  expect(retryDelayMs(1, 1_000 * HOUR_MS, 0)).toBe(24 * HOUR_MS);
});

test.each([
  ["120", 120_000],
  ["Thu, 01 Jan 1970 00:02:00 GMT", 60_000],
  ["Wed, 31 Dec 1969 00:00:00 GMT", 0],
  ["soon", undefined],
  ["99999999999999999999", undefined],
  [undefined, undefined],
])("Retry-After %p is %p ms", (value, ms) => {
  expect(parseRetryAfter(value, 60_000)).toBe(ms);
});

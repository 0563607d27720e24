import { describe, expect, test } from "bun:test";

import {
  exhausted,
  type LimitWindow,
  mostConstrained,
  rateLimited,
  rateLimitHeaders,
} from "./windows.ts";

const window = (change: Partial<LimitWindow>): LimitWindow => ({
  name: "minute",
  limit: 10,
  seconds: 60,
  spent: 0,
  resetsAt: 1_000_500,
  ...change,
});

describe("rate-limit windows", () => {
  test("the most constrained has the lowest share left; of equal ones it closes last", () => {
    const roomy = window({ name: "day", limit: 1_000, spent: 100 });
    const tight = window({ spent: 9 });
    expect(mostConstrained([roomy, tight])).toBe(tight);
    const later = window({ name: "later", spent: 9, resetsAt: 2_000_000 });
    expect(mostConstrained([later, tight])).toBe(later);
    expect(mostConstrained([tight, later])).toBe(later);
    expect(mostConstrained([])).toBeUndefined();
  });

  test("of several exhausted ones, the one with the longest wait is chosen", () => {
    const short = window({ spent: 10 });
    const long = window({ name: "day", spent: 10, resetsAt: 9_000_000 });
    expect(exhausted([short, long, window({ resetsAt: 99_000_000 })])).toBe(long);
  });

  test("headers describe one window, with the reset rounded up", () => {
    expect(rateLimitHeaders(window({ spent: 4 }), 990_000)).toEqual({
      "x-ratelimit-limit": "10",
      "x-ratelimit-remaining": "6",
      "x-ratelimit-reset": "1001",
      "x-ratelimit-policy": "10;w=60",
      ratelimit: '"minute";r=6;t=11',
      "ratelimit-policy": '"minute";q=10;w=60',
    });
  });

  test("the 429 has the same wait in header, body and message, at least a second", () => {
    const error = rateLimited(window({ spent: 10 }), 970_000);
    expect(error.headers["retry-after"]).toBe("31");
    expect(error.envelope.error).toMatchObject({ code: "rate_limited", retry_after: 31 });
    expect(error.message).toContain("31 seconds");
    const short = rateLimited(window({}), 1_000_499);
    expect(short.envelope.error.retry_after).toBe(1);
    expect(short.message).toContain("in 60 seconds. Try again in 1 second.");
  });
});

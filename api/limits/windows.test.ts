import { describe, expect, test } from "bun:test";

import { type LimitWindow, rateLimited, rateLimitHeaders, refusing, tightest } from "./windows.ts";

const window = (change: Partial<LimitWindow>): LimitWindow => ({
  name: "minute",
  allowed: 10,
  seconds: 60,
  spent: 0,
  resetsAt: 1_000_500,
  ...change,
});

describe("rate-limit windows", () => {
  test("the one with the lowest share left is described; of equals the one that closes last", () => {
    const roomy = window({ name: "day", allowed: 1_000, spent: 100 });
    const tight = window({ spent: 9 });
    expect(tightest([roomy, tight])).toBe(tight);
    const later = window({ name: "later", spent: 9, resetsAt: 2_000_000 });
    expect(tightest([later, tight])).toBe(later);
    expect(tightest([tight, later])).toBe(later);
    expect(tightest([])).toBeUndefined();
  });

  test("of several that refuse, the one with the longest wait is named", () => {
    const short = window({ spent: 10 });
    const long = window({ name: "day", spent: 10, resetsAt: 9_000_000 });
    expect(refusing([short, long, window({ resetsAt: 99_000_000 })])).toBe(long);
  });

  test("headers describe one window, rounded so that nobody comes too early", () => {
    expect(rateLimitHeaders(window({ spent: 4 }))).toEqual({
      "x-ratelimit-limit": "10",
      "x-ratelimit-remaining": "6",
      "x-ratelimit-reset": "1001",
      "x-ratelimit-policy": "10;w=60",
    });
  });

  test("the refusal says the same wait in header, body and text, at least a second", () => {
    const error = rateLimited(window({ spent: 10 }), 970_000);
    expect(error.headers["retry-after"]).toBe("31");
    expect(error.envelope.error).toMatchObject({ code: "rate_limited", retry_after: 31 });
    expect(error.message).toContain("31 seconds");
    expect(rateLimited(window({}), 1_000_499).envelope.error.retry_after).toBe(1);
  });
});

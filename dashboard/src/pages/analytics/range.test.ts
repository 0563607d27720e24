import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { getPreviousQuery, readRange, toRangeQuery } from "./range.ts";

const toDays = (text = "") => Date.parse(text) / 86_400_000;

const read = (text: string) => readRange(new URLSearchParams(text));

describe("the range in a URL", () => {
  test.each([
    ["period=7d&timezone=UTC", { period: "7d", timezone: "UTC" }],
    ["period=nonsense&timezone=UTC", { period: "30d", timezone: "UTC" }],
    [
      "start=2026-01-01&end=2026-01-31&timezone=Asia/Tokyo",
      { start_date: "2026-01-01", end_date: "2026-01-31", timezone: "Asia/Tokyo" },
    ],
    ["start=2026-02-01&end=2026-01-31&timezone=UTC", { period: "30d", timezone: "UTC" }],
  ])("%p is used when it is valid, otherwise 30 days", (text, query) => {
    expect(toRangeQuery(read(text))).toEqual(query as ReturnType<typeof toRangeQuery>);
  });
});

describe("the previous range", () => {
  test("has the same length and ends the day before the range begins", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 0, max: 20_000 }),
        (n, at) => {
          const labels = Array.from({ length: n }, (_, i) =>
            new Date((at + i) * 86_400_000).toISOString().slice(0, 10),
          );
          const previous = getPreviousQuery(read("period=30d&timezone=UTC"), labels, 0);
          expect(toDays(previous?.end_date)).toBe(at - 1);
          expect(toDays(previous?.end_date) - toDays(previous?.start_date) + 1).toBe(n);
        },
      ),
    );
  });

  test("of 24 hours is the 24 hours before; all time has none", () => {
    expect(getPreviousQuery(read("period=24h&timezone=UTC"), [], Date.UTC(2026, 0, 3))).toEqual({
      timezone: "UTC",
      start_date: "2026-01-01T00:00:00.000Z",
      end_date: "2026-01-02T00:00:00.000Z",
    });
    expect(getPreviousQuery(read("period=all&timezone=UTC"), ["2026-01-01"], 0)).toBeUndefined();
  });
});

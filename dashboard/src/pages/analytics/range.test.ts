import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { previousQuery, queryOf, readRange } from "./range.ts";

const days = (text = "") => Date.parse(text) / 86_400_000;

const read = (text: string) => readRange(new URLSearchParams(text));

describe("the range of an address", () => {
  test.each([
    ["period=7d&timezone=UTC", { period: "7d", timezone: "UTC" }],
    ["period=nonsense&timezone=UTC", { period: "30d", timezone: "UTC" }],
    [
      "start=2026-01-01&end=2026-01-31&timezone=Asia/Tokyo",
      { start_date: "2026-01-01", end_date: "2026-01-31", timezone: "Asia/Tokyo" },
    ],
    ["start=2026-02-01&end=2026-01-31&timezone=UTC", { period: "30d", timezone: "UTC" }],
  ])("%p asks for what it says, or for what is usual", (text, query) => {
    expect(queryOf(read(text))).toEqual(query as ReturnType<typeof queryOf>);
  });
});

describe("the time before", () => {
  test("is as long, and ends the day before the range begins", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 0, max: 20_000 }),
        (n, at) => {
          const labels = Array.from({ length: n }, (_, i) =>
            new Date((at + i) * 86_400_000).toISOString().slice(0, 10),
          );
          const before = previousQuery(read("period=30d&timezone=UTC"), labels, 0);
          expect(days(before?.end_date)).toBe(at - 1);
          expect(days(before?.end_date) - days(before?.start_date) + 1).toBe(n);
        },
      ),
    );
  });

  test("of 24 hours are the 24 hours before; of all time there is none", () => {
    expect(previousQuery(read("period=24h&timezone=UTC"), [], Date.UTC(2026, 0, 3))).toEqual({
      timezone: "UTC",
      start_date: "2026-01-01T00:00:00.000Z",
      end_date: "2026-01-02T00:00:00.000Z",
    });
    expect(previousQuery(read("period=all&timezone=UTC"), ["2026-01-01"], 0)).toBeUndefined();
  });
});

import { describe, expect, test } from "bun:test";

import { readRange, toRangeQuery } from "./analytics-path.ts";

const NOW = Date.parse("2026-11-20T23:30:00Z");

const read = (text: string) => readRange(new URLSearchParams(text), NOW);

describe("the range in a URL", () => {
  test.each([
    ["period=7d&timezone=UTC", { period: "7d", timezone: "UTC" }],
    ["period=nonsense&timezone=UTC", { period: "30d", timezone: "UTC" }],
    [
      "start=2026-01-01&end=2026-01-31&timezone=Asia/Tokyo",
      { start_date: "2026-01-01", end_date: "2026-01-31", timezone: "Asia/Tokyo" },
    ],
    [
      "period=today&timezone=Asia/Tokyo",
      { start_date: "2026-11-21", end_date: "2026-11-21", timezone: "Asia/Tokyo" },
    ],
    // The API says what is wrong with the zone.
    [
      "period=today&timezone=Mars/Base",
      { start_date: "2026-11-20", end_date: "2026-11-20", timezone: "Mars/Base" },
    ],
    ["start=2026-02-01&end=2026-01-31&timezone=UTC", { period: "30d", timezone: "UTC" }],
  ])("%p is used when it is valid, otherwise 30 days", (text, query) => {
    expect(toRangeQuery(read(text))).toEqual(query as ReturnType<typeof toRangeQuery>);
  });
});

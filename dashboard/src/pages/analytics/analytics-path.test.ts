import { describe, expect, test } from "bun:test";

import { type CalendarPeriod, datesOf, readRange, toRangeQuery } from "./analytics-path.ts";

const at = (text: string): number => Date.parse(text);

test.each<[CalendarPeriod, string, string, string, string]>([
  ["today", "UTC", "2026-03-01T00:05Z", "2026-03-01", "2026-03-01"],
  ["today", "Pacific/Kiritimati", "2025-12-31T10:00Z", "2026-01-01", "2026-01-01"],
  ["today", "America/New_York", "2026-03-01T04:59Z", "2026-02-28", "2026-02-28"],
  ["yesterday", "UTC", "2024-03-01T12:00Z", "2024-02-29", "2024-02-29"],
  // Clocks are moved on that day.
  ["yesterday", "Europe/Berlin", "2026-03-29T22:30Z", "2026-03-29", "2026-03-29"],
  ["this-month", "UTC", "2026-02-10T12:00Z", "2026-02-01", "2026-02-28"],
  ["this-month", "Asia/Kathmandu", "2026-11-30T18:15Z", "2026-12-01", "2026-12-31"],
  ["last-month", "UTC", "2026-01-31T12:00Z", "2025-12-01", "2025-12-31"],
  ["last-month", "UTC", "2024-03-31T12:00Z", "2024-02-01", "2024-02-29"],
  ["this-year", "America/New_York", "2026-01-01T03:00Z", "2025-01-01", "2025-12-31"],
])("%s in %s at %s is %s to %s", (period, timezone, now, start, end) => {
  expect(datesOf(period, timezone, at(now))).toEqual({ start, end });
});

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

import { expect, test } from "bun:test";

import { type CalendarPeriod, datesOf } from "./analytics-path.ts";

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

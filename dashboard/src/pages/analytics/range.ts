/** The time range of a view, read from the URL. */
import { DEFAULT_PERIOD, type Period, PERIODS } from "../../../../shared/contracts/analytics.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { type CalendarPeriod, datesOf, isCalendarPeriod } from "./calendar.ts";

export const PERIOD_NAMES: Readonly<Record<Period, TextKey>> = {
  "24h": "analytics.period.hours24",
  "7d": "analytics.period.days7",
  "30d": "analytics.period.days30",
  "90d": "analytics.period.days90",
  all: "analytics.period.all",
};

export type Range = {
  period: Period | CalendarPeriod | "custom";
  /** Local dates such as 2026-01-31, both inclusive, of a custom range or a calendar period. */
  start: string;
  end: string;
  timezone: string;
};

/** The range as query parameters of the API. */
export type RangeQuery = {
  timezone: string;
  period?: Period;
  start_date?: string;
  end_date?: string;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;

const getLocalZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * Reads the range from the URL's query; 30 days if it contains no valid one. Calendar periods are
 * those at `now` (Unix milliseconds).
 */
export function readRange(params: URLSearchParams, now = Date.now()): Range {
  const start = params.get("start") ?? "";
  const end = params.get("end") ?? "";
  const timezone = params.get("timezone") ?? getLocalZone();
  if (DATE.test(start) && DATE.test(end) && start <= end) {
    return { period: "custom", start, end, timezone };
  }
  const name = params.get("period");
  if (isCalendarPeriod(name)) {
    return { period: name, ...datesOf(name, isZone(timezone) ? timezone : "UTC", now), timezone };
  }
  const period = PERIODS.find((known) => known === name) ?? DEFAULT_PERIOD;
  return { period, start: "", end: "", timezone };
}

function isZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone }).format();
    return true;
  } catch {
    return false;
  }
}

export function toRangeQuery({ period, start, end, timezone }: Range): RangeQuery {
  return period === "custom" || isCalendarPeriod(period)
    ? { timezone, start_date: start, end_date: end }
    : { timezone, period };
}

/** The time range of a view, read from the URL. */
import { DEFAULT_PERIOD, type Period, PERIODS } from "../../../../shared/contracts/periods.ts";

export const PERIOD_NAMES: Readonly<Record<Period | "custom", string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  all: "All time",
  custom: "Custom",
};

export type Range = {
  period: Period | "custom";
  /** Local dates such as 2026-01-31, both inclusive; only of a custom range. */
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

/** Reads the range from the URL's query; 30 days when it has none that is valid. */
export function readRange(params: URLSearchParams): Range {
  const start = params.get("start") ?? "";
  const end = params.get("end") ?? "";
  const timezone = params.get("timezone") ?? getLocalZone();
  if (DATE.test(start) && DATE.test(end) && start <= end) {
    return { period: "custom", start, end, timezone };
  }
  const period = PERIODS.find((known) => known === params.get("period")) ?? DEFAULT_PERIOD;
  return { period, start: "", end: "", timezone };
}

export const toRangeQuery = ({ period, start, end, timezone }: Range): RangeQuery =>
  period === "custom" ? { timezone, start_date: start, end_date: end } : { timezone, period };

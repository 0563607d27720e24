/** Which time a view is about, as its address says, and the time before it to compare with. */

export const PERIODS = ["24h", "7d", "30d", "90d", "all"] as const;

export type Period = (typeof PERIODS)[number];

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
  /** Local dates such as 2026-01-31, both within the range; of a custom one alone. */
  start: string;
  end: string;
  timezone: string;
};

/** Query parameters of the API. */
export type RangeQuery = {
  timezone: string;
  period?: Period;
  start_date?: string;
  end_date?: string;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;

const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whatever an address says, a range that can be asked about. */
export function readRange(params: URLSearchParams): Range {
  const start = params.get("start") ?? "";
  const end = params.get("end") ?? "";
  const timezone = params.get("timezone") ?? localZone();
  if (DATE.test(start) && DATE.test(end) && start <= end) {
    return { period: "custom", start, end, timezone };
  }
  const period = PERIODS.find((known) => known === params.get("period")) ?? "30d";
  return { period, start: "", end: "", timezone };
}

export const queryOf = ({ period, start, end, timezone }: Range): RangeQuery =>
  period === "custom" ? { timezone, start_date: start, end_date: end } : { timezone, period };

/**
 * The time of the same length just before, given the answer's first label and how many there are;
 * undefined where there is none.
 */
export function previousQuery(
  { period, timezone }: Range,
  labels: readonly string[],
  now: number,
): RangeQuery | undefined {
  if (period === "all") return undefined;
  if (period === "24h") {
    return {
      timezone,
      start_date: new Date(now - 48 * HOUR_MS).toISOString(),
      end_date: new Date(now - 24 * HOUR_MS).toISOString(),
    };
  }
  const first = labels[0];
  if (first === undefined) return undefined;
  return {
    timezone,
    start_date: daysBefore(first, labels.length),
    end_date: daysBefore(first, 1),
  };
}

const HOUR_MS = 3_600_000;

/** A calendar date so many days earlier. */
function daysBefore(date: string, days: number): string {
  const at = new Date(`${date}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() - days);
  return at.toISOString().slice(0, 10);
}

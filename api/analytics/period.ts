/**
 * Resolves the range of an analytics query and the buckets of its time axis. Applies time-zone
 * rules here, so that ClickHouse needs none.
 */
import { DEFAULT_PERIOD, type Period } from "../../shared/contracts/periods.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import { invalidField } from "../http/errors.ts";

export type PeriodQuery = {
  period?: Period | undefined;
  start_date?: string | undefined;
  end_date?: string | undefined;
  timezone?: string | undefined;
};

/**
 * One step of the time axis: its local date (of an hour: date and time), and its start in Unix
 * milliseconds.
 */
type Bucket = { label: string; start: number };

export type Range = {
  /** The name of the range in the response. */
  period: Period | "custom";
  /** Unix milliseconds; `to` is exclusive. */
  from: number;
  to: number;
  /** In order and without gaps. The first may start before `from`. */
  buckets: Bucket[];
  /** Number of local days that the range touches; 24 hours count as one. */
  days: number;
};

const HOURS = 24;
const PERIOD_DAYS = { "7d": 7, "30d": 30, "90d": 90 } as const;
const SPAN_YEARS_MAX = 5;

/**
 * Resolves the period or the custom dates of a query. The period `all` starts on the day of
 * `createdAt`. Both instants are Unix milliseconds. Throws `invalid_request`, which names the
 * parameter.
 */
export function resolveRange(query: PeriodQuery, createdAt: number, now: number): Range {
  const zone = parseZone(query.timezone ?? "UTC");
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  if (query.start_date !== undefined || query.end_date !== undefined) {
    return customRange(query.start_date, query.end_date, zone, today, now);
  }
  const period = query.period ?? DEFAULT_PERIOD;
  if (period === "24h") return hourRange(zone, now);
  const first =
    period === "all"
      ? earlier(localDate(createdAt, zone), today)
      : today.subtract({ days: PERIOD_DAYS[period] - 1 });
  const from = startOfDay(first, zone);
  return {
    period,
    from,
    to: startOfDay(today.add({ days: 1 }), zone),
    ...dayAxis(first, today, zone),
  };
}

/** The local hour of an instant and the 23 before it. */
export function hourRange(zone: string, now: number): Range {
  const current = hourAt(now, zone);
  const buckets = [current];
  while (buckets.length < HOURS) {
    buckets.unshift(hourAt((buckets[0] ?? current).start - 1, zone));
  }
  const from = (buckets[0] ?? current).start;
  return { period: "24h", from, to: current.end, buckets, days: 1 };
}

/** A range with an axis of local days; of one day if it is empty. */
export const dayRange = (from: number, to: number, zone: string): Range => ({
  period: "custom",
  from,
  to,
  ...dayAxis(localDate(from, zone), localDate(Math.max(from, to - 1), zone), zone),
});

/** The UTC offset of local time in seconds, from an instant (Unix milliseconds) on. */
export type Offset = { from: number; seconds: number };

/** The offsets of a query's time zone within a range, in order. */
export function resolveOffsets(
  query: PeriodQuery,
  { from, to }: Pick<Range, "from" | "to">,
): Offset[] {
  const zone = parseZone(query.timezone ?? "UTC");
  const offsets: Offset[] = [];
  let at: Temporal.ZonedDateTime | null =
    Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone);
  // A range spans few years, and clocks change a few times a year.
  while (at !== null && at.epochMilliseconds < to) {
    offsets.push({ from: at.epochMilliseconds, seconds: at.offsetNanoseconds / 1e9 });
    at = at.getTimeZoneTransition("next");
  }
  return offsets;
}

/**
 * The local hour that contains an instant. If the clocks change within an hour (by half an hour on
 * Lord Howe, at a quarter to three on Chatham), each part of it counts as an hour.
 */
function hourAt(instant: number, zone: string): Bucket & { end: number } {
  const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
  const elapsed = (local.minute * 60 + local.second) * 1_000 + local.millisecond;
  const previousChange = local.getTimeZoneTransition("previous")?.epochMilliseconds ?? -Infinity;
  const nextChange = local.getTimeZoneTransition("next")?.epochMilliseconds ?? Infinity;
  const label = local.toPlainDateTime().with({ minute: 0 }).toString({ smallestUnit: "minute" });
  return {
    label,
    start: Math.max(instant - elapsed, previousChange),
    end: Math.min(instant - elapsed + HOUR_MS, nextChange),
  };
}

function customRange(
  start: string | undefined,
  end: string | undefined,
  zone: string,
  today: Temporal.PlainDate,
  now: number,
): Range {
  const to = end === undefined ? Math.max(now, 1) : parseBoundary("end_date", end, zone, "end");
  const from =
    start === undefined
      ? startOfDay(
          localDate(to - 1, zone).subtract({ days: PERIOD_DAYS[DEFAULT_PERIOD] - 1 }),
          zone,
        )
      : parseBoundary("start_date", start, zone, "start");
  if (from >= to) throw invalidField("start_date", "must be before end_date");
  const first = localDate(from, zone);
  const last =
    end === undefined && start !== undefined ? later(today, first) : localDate(to - 1, zone);
  if (Temporal.PlainDate.compare(first.add({ years: SPAN_YEARS_MAX }), last) < 0) {
    throw invalidField("start_date", `must be at most ${SPAN_YEARS_MAX} years before end_date`);
  }
  return { period: "custom", from, to, ...dayAxis(first, last, zone) };
}

function dayAxis(first: Temporal.PlainDate, last: Temporal.PlainDate, zone: string) {
  const buckets: Bucket[] = [];
  for (let day = first; Temporal.PlainDate.compare(day, last) <= 0; day = day.add({ days: 1 })) {
    buckets.push({ label: day.toString(), start: startOfDay(day, zone) });
  }
  return { buckets, days: buckets.length };
}

/** Parses a date, which means a whole local day, or an instant with `Z` or an offset. */
function parseBoundary(name: string, text: string, zone: string, side: "start" | "end"): number {
  const instant = parseInstant(text, zone, side);
  const problem = instantProblem(instant);
  if (instant === undefined || problem !== undefined) throw invalidField(name, problem ?? "");
  return instant;
}

function instantProblem(instant: number | undefined): string | undefined {
  if (instant === undefined)
    return "must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z)";
  // Temporal accepts more years than the calculations here support.
  return instant < EARLIEST || instant > LATEST ? "must be in the years 1 to 9998" : undefined;
}

/** Why a text cannot be the start or end of a range; undefined for one that can. */
export const boundaryProblem = (text: string): string | undefined =>
  instantProblem(parseInstant(text, "UTC", "end"));

/**
 * The first and the last instant of ranges, in Unix milliseconds: those whose dates responses can
 * represent.
 */
export const EARLIEST = Date.parse("0001-01-02T00:00:00Z");
const LATEST = Date.parse("9998-12-31T00:00:00Z");

function parseInstant(text: string, zone: string, side: "start" | "end"): number | undefined {
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
      const date = Temporal.PlainDate.from(text);
      return startOfDay(side === "start" ? date : date.add({ days: 1 }), zone);
    }
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** Why a text is not an IANA time zone, such as an offset (`+02:00`); undefined for a valid one. */
export const zoneProblem = (text: string): string | undefined =>
  findZone(text) === undefined ? "must be an IANA time zone such as Europe/Berlin" : undefined;

/** Returns the canonical name of an IANA time zone; throws `invalid_request` for any other text. */
export function parseZone(text: string): string {
  const zone = findZone(text);
  if (zone === undefined) throw invalidField("timezone", zoneProblem(text) ?? "");
  return zone;
}

function findZone(text: string): string | undefined {
  if (!/^[A-Za-z]/.test(text)) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const startOfDay = (date: Temporal.PlainDate, zone: string): number =>
  date.toZonedDateTime(zone).epochMilliseconds;

const localDate = (instant: number, zone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDate();

const earlier = (a: Temporal.PlainDate, b: Temporal.PlainDate) =>
  Temporal.PlainDate.compare(a, b) <= 0 ? a : b;

const later = (a: Temporal.PlainDate, b: Temporal.PlainDate) =>
  Temporal.PlainDate.compare(a, b) >= 0 ? a : b;

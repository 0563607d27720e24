/**
 * The period of a query, its range with the buckets of its time axis, and the range that it is
 * compared with. Applies time-zone rules here, so that ClickHouse needs none.
 */
import * as z from "zod";

import { DEFAULT_PERIOD, type Period, PERIODS } from "../../shared/contracts/analytics.ts";
import { TIME_ZONE } from "../../shared/contracts/examples.ts";
import { normalizeInstant } from "../../shared/contracts/text-schemas.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import { invalidField } from "../http/errors.ts";

/** Maximum characters of a date, and of a time zone's name. */
const TEXT_LENGTH_MAX = 64;

/** A text that `problemOf` accepts; its problem is the error message. */
const textWithout = (problemOf: (text: string) => string | undefined) =>
  z
    .string()
    .max(TEXT_LENGTH_MAX)
    .superRefine((text, context) => {
      const problem = problemOf(text);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .optional();

/** An IANA time zone. */
export const timezoneField = textWithout(zoneProblem).meta({
  description: "The IANA time zone whose days and hours group the clicks; `UTC` when left out.",
  examples: [TIME_ZONE],
});

export const periodField = z
  .enum(PERIODS)
  .optional()
  .meta({ examples: ["7d"] });

export const periodParameters = {
  period: periodField.meta({
    description:
      "The last 24 hours, 7, 30 or 90 days including today, or all time. `30d` when neither it nor dates are sent; ignored beside dates.",
  }),
  start_date: textWithout(boundaryProblem).meta({
    description:
      "The first day (`2026-01-31`, in `timezone`) or the instant (`2026-01-31T12:00:00Z`) at which the range begins. 30 days before `end_date` when left out.",
    examples: ["2026-03-01"],
  }),
  end_date: textWithout(boundaryProblem).meta({
    description:
      "The last day, whole, or the instant before which the range ends; now when left out. At most five years after `start_date`.",
    examples: ["2026-03-31"],
  }),
  timezone: timezoneField,
};

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

/** Unix milliseconds; `to` is exclusive. */
export type Span = { from: number; to: number };

export type Range = Span & {
  /** The name of the range in the response. */
  period: Period | "custom";
  /** In order and without gaps. The first may start before `from`. */
  buckets: Bucket[];
  /** Number of local days that the range touches; 24 hours count as one. */
  days: number;
};

const HOURS = 24;
const PERIOD_DAYS = { "7d": 7, "30d": 30, "90d": 90 } as const;
/** Maximum years between the dates of a query. */
export const SPAN_YEARS_MAX = 5;

/**
 * Resolves the period or the custom dates of a query. The period `all` starts on the day of
 * `createdAt`. Both instants are Unix milliseconds. Throws `invalid_request`, which names the
 * parameter.
 */
export function resolveRange(query: PeriodQuery, createdAt: number, now: number): Range {
  const zone = parseZone(query.timezone ?? "UTC");
  const today = localDate(now, zone);
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
function hourRange(zone: string, now: number): Range {
  const current = hourAt(now, zone);
  const buckets = [current];
  while (buckets.length < HOURS) {
    buckets.unshift(hourAt((buckets[0] ?? current).start - 1, zone));
  }
  const from = (buckets[0] ?? current).start;
  return { period: "24h", from, to: current.end, buckets, days: 1 };
}

/** A range with an axis of local days; of one day if it is empty. */
const dayRange = (from: number, to: number, zone: string): Range => ({
  period: "custom",
  from,
  to,
  ...dayAxis(localDate(from, zone), localDate(Math.max(from, to - 1), zone), zone),
});

/** The UTC offset of local time in seconds, from an instant (Unix milliseconds) on. */
export type Offset = { from: number; seconds: number };

/** The offsets of a query's time zone within a range, in order. */
export function resolveOffsets(query: PeriodQuery, { from, to }: Span): Offset[] {
  const zone = parseZone(query.timezone ?? "UTC");
  const offsets: Offset[] = [];
  let at: Zoned | null = zoned(from, zone);
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
  const local = zoned(instant, zone);
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
  const parsed = parseInstant(text, zone, side);
  if (typeof parsed !== "number") throw invalidField(name, parsed.problem);
  return parsed;
}

/** Why a text cannot be the start or end of a range; undefined for one that can. */
export function boundaryProblem(text: string): string | undefined {
  const parsed = parseInstant(text, "UTC", "end");
  return typeof parsed === "number" ? undefined : parsed.problem;
}

/**
 * The first and the last instant of ranges, in Unix milliseconds: those whose dates responses can
 * represent.
 */
const EARLIEST = Date.parse("0001-01-02T00:00:00Z");
const LATEST = Date.parse("9998-12-31T00:00:00Z");

/** The instant of a text, in Unix milliseconds, or why it is none. */
function parseInstant(text: string, zone: string, side: "start" | "end") {
  try {
    const instant = /^\d{4}-\d{2}-\d{2}$/.test(text)
      ? startOfDay(Temporal.PlainDate.from(text).add({ days: side === "start" ? 0 : 1 }), zone)
      : Temporal.Instant.from(normalizeInstant(text)).epochMilliseconds;
    // Temporal accepts more years than the calculations here support.
    return instant < EARLIEST || instant > LATEST
      ? { problem: "must be in the years 1 to 9998" }
      : instant;
  } catch {
    return { problem: "must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z)" };
  }
}

/** Why a text is not an IANA time zone, such as an offset (`+02:00`); undefined for a valid one. */
function zoneProblem(text: string): string | undefined {
  return findZone(text) === undefined ? NO_ZONE : undefined;
}

const NO_ZONE = "must be an IANA time zone such as Europe/Berlin";

/** Returns the canonical name of an IANA time zone; throws `invalid_request` for any other text. */
export function parseZone(text: string): string {
  const zone = findZone(text);
  if (zone === undefined) throw invalidField("timezone", NO_ZONE);
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

/** The local date of an instant, in Unix milliseconds. */
export const localDate = (instant: number, zone: string): Temporal.PlainDate =>
  zoned(instant, zone).toPlainDate();

const earlier = (a: Temporal.PlainDate, b: Temporal.PlainDate) =>
  Temporal.PlainDate.compare(a, b) <= 0 ? a : b;

const later = (a: Temporal.PlainDate, b: Temporal.PlainDate) =>
  Temporal.PlainDate.compare(a, b) >= 0 ? a : b;

export const COMPARISONS = ["previous", "year"] as const;

export type Comparison = (typeof COMPARISONS)[number];

type Zoned = Temporal.ZonedDateTime;

/**
 * Resolves the range that a query's range is compared with: the one of equal length right before
 * it, or the one a year earlier. Whole local days are compared with whole local days, also across
 * clock changes, and whole calendar months with whole months. A range that is not over at `now`
 * (Unix milliseconds) is compared up to the same moment of the earlier one. Throws
 * `invalid_request` for the period `all`, and before the year 1.
 */
export function resolveComparison(
  query: PeriodQuery,
  range: Range,
  comparison: Comparison,
  now: number,
): Range {
  if (range.period === "all") throw invalidField("compare", 'cannot be used with the period "all"');
  const zone = parseZone(query.timezone ?? "UTC");
  const resolve = range.period === "24h" ? compareHours : compareDays;
  const compared = resolve(range, comparison, zone, Math.max(now, range.from));
  if (compared.from < EARLIEST) throw invalidField("compare", "must not reach before the year 1");
  return compared;
}

/**
 * The 24 hours before, or a year earlier. Its last hour ends after the elapsed part of the current
 * hour.
 */
function compareHours({ from, to, buckets }: Range, by: Comparison, zone: string, now: number) {
  const last = by === "year" ? yearBefore(to, zone) - 1 : from - 1;
  const before = hourRange(zone, last);
  const elapsed = now - (buckets.at(-1)?.start ?? from);
  return { ...before, to: Math.min(before.to, (before.buckets.at(-1)?.start ?? 0) + elapsed) };
}

function compareDays({ period, from, to }: Range, by: Comparison, zone: string, now: number) {
  if (by === "year") {
    const start = yearBefore(from, zone);
    return dayRange(start, Math.max(start, yearBefore(Math.min(now, to), zone)), zone);
  }
  const [start, end, at] = [zoned(from, zone), zoned(to, zone), zoned(now, zone)];
  if (!isMidnight(start) || !isMidnight(end)) {
    const first = from - (to - from);
    return dayRange(first, Math.min(from, first + now - from), zone);
  }
  const months = period === "custom" ? countMonths(start, end) : 0;
  const days = start.toPlainDate().until(end.toPlainDate()).days;
  const first = start.subtract(months > 0 ? { months } : { days }).startOfDay();
  // The time of day is now's; the day is as many days after the first.
  const moment = first
    .toPlainDate()
    .add({ days: start.toPlainDate().until(at.toPlainDate()).days })
    .toZonedDateTime({ timeZone: zone, plainTime: at.toPlainTime() });
  const last = now < to ? Math.min(from, moment.epochMilliseconds) : from;
  return dayRange(first.epochMilliseconds, Math.max(first.epochMilliseconds, last), zone);
}

/**
 * The number of calendar months between two local midnights; 0 unless both are the first of a
 * month.
 */
const countMonths = (start: Zoned, end: Zoned): number =>
  start.day === 1 && end.day === 1
    ? start.toPlainDate().until(end.toPlainDate(), { largestUnit: "months" }).months
    : 0;

const isMidnight = (at: Zoned): boolean => at.equals(at.startOfDay());

/**
 * The same local time a year earlier. The start of a day maps to the start of that day, which need
 * not be midnight.
 */
function yearBefore(instant: number, zone: string): number {
  const at = zoned(instant, zone);
  const before = at.subtract({ years: 1 });
  return (isMidnight(at) ? before.startOfDay() : before).epochMilliseconds;
}

const zoned = (instant: number, zone: string): Zoned =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);

/**
 * Resolves the range that a range is compared with. An unfinished range is compared with the same
 * part of an earlier one.
 */
import { invalidField } from "../http/errors.ts";
import {
  dayRange,
  EARLIEST,
  hourRange,
  parseZone,
  type PeriodQuery,
  type Range,
} from "./period.ts";

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

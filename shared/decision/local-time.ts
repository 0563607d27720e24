/** Local times of time zones. */
import { MINUTE_MS } from "../durations.ts";
import { cached } from "../visitors/cache.ts";

const DAY_MINUTES = 1_440;

/** Offsets of time zones change on quarter hours of UTC only. */
const QUARTER_MS = 15 * MINUTE_MS;

/**
 * Time zones whose offset is cached; there are some 600 names. To compute an offset takes
 * microseconds.
 */
const ZONES_MAX = 1_000;

const zones = cached(ZONES_MAX, (_timeZone: string) => ({ quarter: NaN, offset: 0 }));

/** A local weekday (1 = Monday … 7) and the minutes since midnight. */
export type LocalTime = { weekday: number; minutes: number };

/**
 * Returns the local time at an instant (Unix milliseconds). Throws a `RangeError` for an unknown
 * time zone.
 */
export function localTime(now: number, timeZone: string): LocalTime {
  const zone = zones(timeZone);
  const quarter = Math.floor(now / QUARTER_MS);
  if (zone.quarter !== quarter) {
    zone.offset = offsetMinutes(quarter * QUARTER_MS, timeZone);
    zone.quarter = quarter;
  }
  const local = Math.floor(now / MINUTE_MS) + zone.offset;
  // 1970-01-01 was a Thursday.
  const weekday = ((((Math.floor(local / DAY_MINUTES) + 3) % 7) + 7) % 7) + 1;
  return { weekday, minutes: ((local % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES };
}

/** Minutes by which local time is ahead of UTC. */
const offsetMinutes = (instant: number, timeZone: string): number =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).offsetNanoseconds /
  (MINUTE_MS * 1_000_000);

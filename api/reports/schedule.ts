/**
 * When reports are made, and of which period: on Mondays or the first of months, at an hour of the
 * report's time zone. All instants are Unix milliseconds.
 */
import type { ReportPeriod } from "../../shared/contracts/report-schemas.ts";

export type Schedule = { period: ReportPeriod; hour: number; timezone: string };

/** Local days, both included, and the instants from the first to after the last. */
export type ReportedPeriod = { first_day: string; last_day: string; from: number; to: number };

/** Reports are made after the hour: by then the last clicks of the period have been stored. */
const MINUTES_PAST_HOUR = 10;

type Day = Temporal.PlainDate;

/** The last period that is over at `now`. */
export function lastPeriod({ period, timezone: zone }: Schedule, now: number): ReportedPeriod {
  const end = startOf(period, localDay(now, zone));
  const first = before(period, end);
  return {
    first_day: first.toString(),
    last_day: end.subtract({ days: 1 }).toString(),
    from: first.toZonedDateTime(zone).epochMilliseconds,
    to: end.toZonedDateTime(zone).epochMilliseconds,
  };
}

/** When a report is due next after `now`. */
export function nextDue({ period, hour, timezone: zone }: Schedule, now: number): number {
  const plainTime = { hour, minute: MINUTES_PAST_HOUR };
  const dueOn = (day: Day): number =>
    // An hour that the clocks leave out is the one after it; of one that comes twice, the first.
    day.toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds;
  let day = startOf(period, localDay(now, zone));
  while (dueOn(day) <= now) day = day.add(period === "weekly" ? { weeks: 1 } : { months: 1 });
  return dueOn(day);
}

const localDay = (instant: number, zone: string): Day =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDate();

/** The Monday or the first of the month that a day belongs to. */
const startOf = (period: ReportPeriod, day: Day): Day =>
  period === "weekly" ? day.subtract({ days: day.dayOfWeek - 1 }) : day.with({ day: 1 });

const before = (period: ReportPeriod, day: Day): Day =>
  day.subtract(period === "weekly" ? { weeks: 1 } : { months: 1 });

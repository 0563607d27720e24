/** Calendar periods, as local dates of a time zone. */

/** The periods, by their names in the page's URL. */
export const CALENDAR_NAMES = {
  today: "analytics.period.today",
  yesterday: "analytics.period.yesterday",
  "this-month": "analytics.period.thisMonth",
  "last-month": "analytics.period.lastMonth",
  "this-year": "analytics.period.thisYear",
} as const;

export type CalendarPeriod = keyof typeof CALENDAR_NAMES;

export const isCalendarPeriod = (text: string | null): text is CalendarPeriod =>
  text !== null && Object.hasOwn(CALENDAR_NAMES, text);

/** Local dates such as 2026-01-31, both inclusive. */
export type Dates = { start: string; end: string };

/**
 * Returns the first and the last date of a period at `now` (Unix milliseconds). Months and years are whole, so that the API
 * compares them with the months before. Throws for an unknown time zone.
 */
export function datesOf(period: CalendarPeriod, timezone: string, now: number): Dates {
  const [year, month, day] = dateAt(now, timezone);
  const dates: Record<CalendarPeriod, Dates> = {
    today: datesBetween([year, month, day], [year, month, day]),
    yesterday: datesBetween([year, month, day - 1], [year, month, day - 1]),
    "this-month": datesBetween([year, month, 1], [year, month + 1, 0]),
    "last-month": datesBetween([year, month - 1, 1], [year, month, 0]),
    "this-year": datesBetween([year, 1, 1], [year, 12, 31]),
  };
  return dates[period];
}

/** Year, month from 1, and day; month and day may overflow, as in `Date`. */
type DateParts = [year: number, month: number, day: number];

const datesBetween = (start: DateParts, end: DateParts): Dates => ({
  start: toText(start),
  end: toText(end),
});

function dateAt(now: number, timeZone: string): DateParts {
  const parts = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
    timeZone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
  }).formatToParts(now);
  const valueOf = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return [valueOf("year"), valueOf("month"), valueOf("day")];
}

const toText = ([year, month, day]: DateParts): string =>
  new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10);

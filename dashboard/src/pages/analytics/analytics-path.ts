/**
 * The query of an analytics page and the paths of its requests, without what renders them: the
 * first script of a page requests the counts while the application loads.
 */
import { DEFAULT_PERIOD, type Period, PERIODS } from "../../../../shared/contracts/analytics.ts";
import { type AccountScope, getBasePath, toSearch } from "../../data/scope.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import { getLocalZone } from "../../ui/local-time.ts";
import { type Filter, readFilters, toFilterQuery } from "./filters.ts";

/** The options for the comparison. */
export const COMPARISONS = {
  previous: "analytics.period.previous",
  year: "analytics.period.yearBefore",
  none: "analytics.period.noComparison",
} as const;

type Comparison = keyof typeof COMPARISONS;

export type AnalyticsQuery = {
  /** Path of the analytics in the API. */
  path: string;
  /** The link that the page is about. */
  link: string | undefined;
  range: Range;
  compare: Comparison;
  /** The filters that the user can change. */
  filters: readonly Filter[];
  /** The filter that the page is about, such as its tag. */
  subject: Filter | undefined;
  /** The view as query parameters of the page of a link, with their `?`; empty without any. */
  viewSearch: string;
};

/** What a page is about, beside all links: a link by its id, or links by a filter. */
export type Subject = { link?: string | undefined; subject?: Filter | undefined };

const analyticsPath = (scope: AccountScope, link?: string): string =>
  `${getBasePath(scope)}/v1/analytics${link === undefined ? "" : `/${encodeURIComponent(link)}`}`;

/** Reads the query from the parameters of the URL. */
export const readAnalyticsQuery = (
  scope: AccountScope,
  params: URLSearchParams,
  { link, subject }: Subject = {},
): AnalyticsQuery => ({
  path: analyticsPath(scope, link),
  link,
  range: readRange(params),
  compare: readComparison(params.get("compare")),
  filters: readFilters(params),
  subject,
  viewSearch: toViewSearch(params),
});

const readComparison = (text: string | null): Comparison =>
  text === "year" || text === "none" ? text : "previous";

export type Params = Record<string, string>;

/** The period and all filters as query parameters. */
export const toQuery = ({ range, filters, subject }: AnalyticsQuery) => ({
  ...toRangeQuery(range),
  ...toFilterQuery(subject === undefined ? filters : [subject, ...filters]),
});

/** Parameters of the counts over time. The period of all time has no comparison. */
export const summaryParams = ({ range, compare }: AnalyticsQuery): Params =>
  compare === "none" || range.period === "all" ? {} : { compare };

/** The path of one view of the clicks, such as `/geo`. */
export const viewPath = (query: AnalyticsQuery, subpath: string, params: Params): string =>
  `${query.path}${subpath}?${toSearch({ ...toQuery(query), ...params })}`;

/** The path of the counts over time, which a page shows first. */
export const countsPath = (query: AnalyticsQuery): string =>
  viewPath(query, "", summaryParams(query));

/**
 * The view as query parameters of the page's own URL, without the filters that do not apply to a
 * single link.
 */
function toViewSearch(params: URLSearchParams): string {
  const kept = new URLSearchParams(params);
  kept.delete("tag");
  kept.delete("domain");
  return kept.size === 0 ? "" : `?${kept.toString()}`;
}

/** The time range of a view, read from the URL. */
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
type RangeQuery = {
  timezone: string;
  period?: Period;
  start_date?: string;
  end_date?: string;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;

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
type Dates = { start: string; end: string };

/**
 * Returns the first and the last date of a period at `now` (Unix milliseconds). Months and years
 * are whole, so that the API compares them with the months before. Throws for an unknown time zone.
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

/**
 * The query of an analytics page and the paths of its requests, without what renders them: the
 * first script of a page requests the counts while the application loads.
 */
import {
  COLUMN_FILTERS,
  DEFAULT_PERIOD,
  type Period,
  PERIODS,
} from "../../../../shared/contracts/analytics.ts";
import {
  type AccountScope,
  getBasePath,
  readValue,
  toSearch,
  writeValue,
} from "../../data/scope.ts";
import { getLocalZone, isZone } from "../../ui/local-time.ts";

/** What the counts are compared with. */
export const COMPARISONS = ["previous", "year", "none"] as const;

type Comparison = (typeof COMPARISONS)[number];

export type AnalyticsQuery = {
  path: string;
  link: string | undefined;
  range: Range;
  compare: Comparison;
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
  compare: COMPARISONS.find((name) => name === params.get("compare")) ?? "previous",
  filters: readFilters(params),
  subject,
  viewSearch: toViewSearch(params),
});

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

export type Range = {
  period: Period | CalendarPeriod | "custom";
  /** Local dates such as 2026-01-31, both inclusive, of a custom range or a calendar period. */
  start: string;
  end: string;
  timezone: string;
};

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

export function toRangeQuery({ period, start, end, timezone }: Range): RangeQuery {
  return period === "custom" || isCalendarPeriod(period)
    ? { timezone, start_date: start, end_date: end }
    : { timezone, period };
}

/** Periods of the calendar, by their names in the page's URL. */
export const CALENDAR_PERIODS = [
  "today",
  "yesterday",
  "this-month",
  "last-month",
  "this-year",
] as const;

export type CalendarPeriod = (typeof CALENDAR_PERIODS)[number];

export const isCalendarPeriod = (text: string | null): text is CalendarPeriod =>
  CALENDAR_PERIODS.some((period) => period === text);

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

// The filters, which select the counted clicks. The URL has them as the API's own parameters.

export const FILTER_NAMES = [...COLUMN_FILTERS, "tag", "domain", "class"] as const;

export type FilterName = (typeof FILTER_NAMES)[number];

/** Whether a name is that of a filter. */
export const isFilterName = (name: string): name is FilterName =>
  FILTER_NAMES.some((known) => known === name);

/**
 * Counts clicks with the value, or only other clicks. Several values of one name are alternatives.
 */
export type Filter = { name: FilterName; value: string; negated: boolean };

/** The filter for clicks with a value. */
export const only = (name: FilterName, value: string): Filter => ({ name, value, negated: false });

export const isSameFilter = (a: Filter, b: Filter): boolean =>
  a.name === b.name && a.value === b.value && a.negated === b.negated;

/** Reads the filters in the URL's query. */
export const readFilters = (params: URLSearchParams): Filter[] =>
  FILTER_NAMES.flatMap((name) => params.getAll(name).map((text) => ({ name, ...readValue(text) })));

/** The filters as query parameters, of the API and of the page's URL. */
export function toFilterQuery(filters: readonly Filter[]): Partial<Record<FilterName, string[]>> {
  const query: Partial<Record<FilterName, string[]>> = {};
  for (const { name, value, negated } of filters) {
    const escaped = writeValue(value);
    (query[name] ??= []).push(negated ? `-${escaped}` : escaped);
  }
  return query;
}

/** Adds filters, each once. */
export const addFilters = (before: readonly Filter[], added: readonly Filter[]): Filter[] => [
  ...before,
  ...added.filter((filter) => !before.some((each) => isSameFilter(each, filter))),
];

/**
 * Adds filters. If a name already has one, the values become alternatives. If all of them are
 * already present, removes them, so that a second click undoes the first.
 */
export function toggleFilters(before: readonly Filter[], toggled: readonly Filter[]): Filter[] {
  const isIn = (list: readonly Filter[], filter: Filter) =>
    list.some((each) => isSameFilter(each, filter));
  return toggled.every((filter) => isIn(before, filter))
    ? before.filter((filter) => !isIn(toggled, filter))
    : addFilters(before, toggled);
}

/**
 * The filters of clicks that a filter of the list of links says; undefined for one that no filter
 * of clicks says: a text, a time, a creator, or two tags that a link must have both.
 */
export function toClickFilters(query: string): Filter[] | undefined {
  const params = new URLSearchParams(query);
  const isSaid = [...params].every(
    ([name, value]) => LINK_CONDITIONS.has(name) || (name === "archived" && value === "any"),
  );
  if (!isSaid || params.size === 0 || params.getAll("tag").length > 1) return undefined;
  return [
    ...readFilters(params).filter(({ name }) => name !== "tag" && name !== "domain"),
    // As they are: only the other values are escaped there.
    ...params.getAll("tag").map((tag) => only("tag", tag)),
    ...params.getAll("domain").map((domain) => only("domain", domain)),
  ];
}

const LINK_CONDITIONS: ReadonlySet<string> = new Set(
  FILTER_NAMES.filter((name) => name === "tag" || name === "domain" || name.startsWith("utm_")),
);

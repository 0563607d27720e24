/**
 * The query of an analytics page and the paths of its requests, without what renders them: the
 * first script of a page requests the counts while the application loads.
 */
import { type AccountScope, getBasePath, toSearch } from "../../data/scope.ts";
import { type Filter, readFilters, toFilterQuery } from "./filters.ts";
import { type Range, readRange, toRangeQuery } from "./range.ts";

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

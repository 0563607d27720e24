/**
 * The query of an analytics page: its period, filters and comparison, read from the URL and shared
 * by all of its cards.
 */
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo } from "react";

import { getJson } from "../../data/http.ts";
import { type AccountScope, getBasePath, toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { useDeferredData } from "../../ui/deferred-data.ts";
import { updateSearch, useSearchState } from "../../ui/search-state.ts";
import { type Filter, FILTER_NAMES, readFilters, toFilterQuery, toggleFilters } from "./filters.ts";
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

const analyticsPath = (scope: AccountScope, link?: string): string =>
  `${getBasePath(scope)}/v1/analytics${link === undefined ? "" : `/${encodeURIComponent(link)}`}`;

/** Reads the query from the URL, for one link or for all; the same until the URL changes. */
export function useReadAnalyticsQuery(link?: string, subject?: Filter): AnalyticsQuery {
  const { scope } = useAccountContext();
  const [params] = useSearchState();
  const path = analyticsPath(scope, link);
  const key = JSON.stringify(subject);
  return useMemo(
    () => ({
      path,
      link,
      range: readRange(params),
      compare: readComparison(params.get("compare")),
      filters: readFilters(params),
      subject,
      viewSearch: toViewSearch(params),
    }),
    // Of the subject, only what it says matters.
    [path, link, params, key],
  );
}

const readComparison = (text: string | null): Comparison =>
  text === "year" || text === "none" ? text : "previous";

type Params = Record<string, string>;

export const AnalyticsQueryContext = createContext<AnalyticsQuery | undefined>(undefined);

/** Returns the page's query. Throws outside of an analytics page. */
export function useAnalyticsQuery(): AnalyticsQuery {
  const analyticsQuery = useContext(AnalyticsQueryContext);
  if (analyticsQuery === undefined) throw new Error("There is no analytics query.");
  return analyticsQuery;
}

/** The period and all filters as query parameters. */
export const toQuery = ({ range, filters, subject }: AnalyticsQuery) => ({
  ...toRangeQuery(range),
  ...toFilterQuery(subject === undefined ? filters : [subject, ...filters]),
});

/** Parameters of the counts over time. The period of all time has no comparison. */
export const summaryParams = ({ range, compare }: AnalyticsQuery): Params =>
  compare === "none" || range.period === "all" ? {} : { compare };

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

/** Replaces the filters in the URL. */
export function setFilters(next: readonly Filter[]): void {
  const removed = Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined]));
  updateSearch({ ...removed, ...toFilterQuery(next) });
}

/** Adds filters to those in the URL, or removes them if it has all of them. */
export const toggleInUrl = (toggled: readonly Filter[]): void =>
  setFilters(toggleFilters(readFilters(new URLSearchParams(location.search)), toggled));

/**
 * Queries one view of the page's clicks, and returns the path of the same data as CSV. New data is
 * returned in a deferred rendering, which yields to keys and clicks: see {@link AnalyticsCards}.
 */
export function useAnalytics<Data>(subpath: string, params: Params = {}) {
  const { scope } = useAccountContext();
  const analyticsQuery = useAnalyticsQuery();
  const path = analyticsQuery.path + subpath;
  const search = toSearch({ ...toQuery(analyticsQuery), ...params });
  const view = `${path}?${toSearch(params)}`;
  const { error, refetch, ...fetched } = useQuery({
    queryKey: ["analytics", scope, view, search],
    queryFn: ({ signal }) => getJson<Data>(`${path}?${search}`, { signal }),
    // Until the response for another period or filter arrives, the previous one of the same view is
    // shown.
    placeholderData: (data, previous) => (previous?.queryKey[2] === view ? data : undefined),
  });
  const csvPath = `${path}?${search}`;
  return { query: { ...useDeferredData(fetched, csvPath), error, refetch }, csvPath };
}

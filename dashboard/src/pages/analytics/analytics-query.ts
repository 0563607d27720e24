/**
 * The query of an analytics page: its period, filters and comparison, read from the URL and shared
 * by all of its cards.
 */
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo } from "react";

import type { Values } from "../../../../shared/statistics/values.ts";
import { getJson } from "../../data/http.ts";
import { toSearch } from "../../data/scope.ts";
import { useAccountContext } from "../../data/session.ts";
import { t } from "../../languages/translate.ts";
import { updateSearch, useSearchState } from "../../ui/search-state.ts";
import { useDeferredData } from "../../ui/states.tsx";
import {
  type AnalyticsQuery,
  countsPath,
  type Filter,
  FILTER_NAMES,
  type FilterName,
  isFilterName,
  only,
  type Params,
  readAnalyticsQuery,
  readFilters,
  toFilterQuery,
  toggleFilters,
  viewPath,
} from "./analytics-path.ts";

/** Reads the query from the URL, for one link or for all; the same until the URL changes. */
export function useReadAnalyticsQuery(link?: string, subject?: Filter): AnalyticsQuery {
  const { scope } = useAccountContext();
  const [params] = useSearchState();
  const key = JSON.stringify([scope, subject]);
  return useMemo(
    () => readAnalyticsQuery(scope, params, { link, subject }),
    // Of scope and subject, only what they say matters.
    [key, link, params],
  );
}

export const AnalyticsQueryContext = createContext<AnalyticsQuery | undefined>(undefined);

/** Returns the page's query. Throws outside of an analytics page. */
export function useAnalyticsQuery(): AnalyticsQuery {
  const analyticsQuery = useContext(AnalyticsQueryContext);
  if (analyticsQuery === undefined) throw new Error("There is no analytics query.");
  return analyticsQuery;
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
  const path = viewPath(analyticsQuery, subpath, params);
  const view = `${analyticsQuery.path}${subpath}?${toSearch(params)}`;
  const { error, refetch, ...fetched } = useQuery({
    queryKey: ["analytics", scope, view, path],
    queryFn: async ({ client, signal }) => {
      const counts = countsPath(analyticsQuery);
      if (path !== counts) await waitForCounts(client, counts);
      return await getJson<Data>(path, { signal });
    },
    // Until the response for another period or filter arrives, the previous one of the same view is
    // shown.
    placeholderData: (data, previous) => (previous?.queryKey[2] === view ? data : undefined),
  });
  return { query: { ...useDeferredData(fetched, view, path), error, refetch }, csvPath: path };
}

/**
 * Waits until the counts over time have been fetched, if they are being fetched: people look at
 * them first, and the questions of the other cards beside them would take the store's time.
 */
async function waitForCounts(client: QueryClient, path: string): Promise<void> {
  const [counts] = client.getQueryCache().findAll({
    predicate: ({ queryKey }) => queryKey[0] === "analytics" && queryKey[3] === path,
  });
  if (counts?.state.fetchStatus !== "fetching") return;
  // Whether they failed is shown by their own card.
  await counts.promise?.catch(() => undefined);
}

/** A filter's name; or `link`, which is not a filter. */
export type Dimension = Exclude<FilterName, "class"> | "link";

export const filterLabel = (name: FilterName): string => t(`fields.${name}`);

export const dimensionLabel = (dimension: Dimension): string =>
  dimension === "link" ? t("fields.link") : filterLabel(dimension);

/** The filters that select the clicks of a row; none for links, which have their own page. */
export const filtersOf = (values: Values): Filter[] =>
  Object.entries(values).flatMap(([name, value]) =>
    isFilterName(name) ? [only(name, value)] : [],
  );

/**
 * The values of a dimension: those with the most clicks, from the endpoint that responds fastest,
 * or all of them, page by page; their names, and the columns of their counts.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link as PageLink } from "wouter";

import type { ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { readableUrl } from "../../../../shared/contracts/host-names.ts";
import { ValueText } from "../../../../shared/statistics/cards.tsx";
import { describeValue, type Values } from "../../../../shared/statistics/values.ts";
import { getJson } from "../../data/http.ts";
import { toSearch } from "../../data/scope.ts";
import { useAccountContext, useApiQuery } from "../../data/session.ts";
import { isNotFound } from "../../languages/errors.ts";
import { statisticsLanguage, t } from "../../languages/translate.ts";
import { formatCount, formatPercent } from "../../ui/format.ts";
import { type Column, numberColumn } from "../../ui/table.tsx";
import { type AnalyticsQuery, isSameFilter, summaryParams, toQuery } from "./analytics-path.ts";
import {
  type Dimension,
  filtersOf,
  toggleInUrl,
  useAnalytics,
  useAnalyticsQuery,
} from "./analytics-query.ts";

const SHOWN_MAX = 10;

/** Maximum countries on the map. */
export const COUNTRIES_MAX = 100;

export type ValueRow = {
  values: Values;
  /** Shown instead of the value. */
  name?: string;
  link?: CountedValues["link"];
  clicks: number;
  percentage: number;
};

type Geo = ResponseBody<"getAccountGeo">;
type Devices = ResponseBody<"getAccountDevices">;

type Body =
  | ResponseBody<"getAccountAnalytics">
  | Geo
  | Devices
  | ResponseBody<"getAccountReferrers">
  | ResponseBody<"getAccountBreakdown">;

/**
 * Returns the first rows of a dimension, the same list while the data is the same, and the path of
 * the rows as CSV.
 */
export function useTopValues(dimension: Dimension, limit = SHOWN_MAX) {
  const analyticsQuery = useAnalyticsQuery();
  const { subpath, params } = requestOf(dimension, analyticsQuery);
  const { query, csvPath } = useAnalytics<Body>(subpath, params);
  const { data, ...state } = query;
  const rows = useMemo(
    () => (data === undefined ? undefined : readRows(dimension, data).slice(0, limit)),
    [data, dimension, limit],
  );
  return {
    csvPath:
      dimension === "link"
        ? `${analyticsQuery.path}/breakdown?${toSearch({ ...toQuery(analyticsQuery), by: "link" })}`
        : csvPath,
    query: { data: rows, ...state },
  };
}

/** Rollups provide the responses for locations, devices, referrers and links. */
function requestOf(
  dimension: Dimension,
  analyticsQuery: AnalyticsQuery,
): { subpath: string; params: Record<string, string> } {
  // The list of countries and the map have the same response.
  const limit = String(dimension === "country" ? COUNTRIES_MAX : SHOWN_MAX);
  switch (dimension) {
    case "link":
      // The same request as that of the clicks over time.
      return { subpath: "", params: summaryParams(analyticsQuery) };
    case "country":
    case "region":
    case "city":
      return { subpath: "/geo", params: { group_by: dimension, limit } };
    case "device":
    case "browser":
    case "os":
      return { subpath: "/devices", params: {} };
    case "referrer":
      return { subpath: "/referrers", params: { limit } };
    default:
      return { subpath: "/breakdown", params: { by: dimension, limit } };
  }
}

function readRows(dimension: Dimension, body: Body): ValueRow[] {
  if ("top_links" in body) {
    const total = body.summary.total_clicks;
    return body.top_links.map(({ link_id, clicks, ...link }) => ({
      values: { link: link_id },
      link,
      clicks,
      percentage: (clicks / total) * 100,
    }));
  }
  if ("group_by" in body) return body.data.map(readPlace);
  if ("devices" in body) return readAgents(dimension, body);
  if ("referrers" in body) {
    return body.referrers.map(({ source, ...counts }) => ({
      values: { referrer: source },
      ...counts,
    }));
  }
  return body.data;
}

function readPlace(row: Geo["data"][number]): ValueRow {
  const { clicks, percentage, country } = row;
  if ("city" in row) {
    const { region, city } = row;
    return { values: { country, region, city }, clicks, percentage };
  }
  if ("region_name" in row) {
    const { region, region_name: name } = row;
    // Without a name of its own, it is an unknown one.
    return {
      values: { country, region },
      ...(name === region ? {} : { name }),
      clicks,
      percentage,
    };
  }
  return { values: { country }, clicks, percentage };
}

function readAgents(dimension: Dimension, { devices, browsers, os }: Devices): ValueRow[] {
  if (dimension === "device") {
    return devices.map(({ type, ...counts }) => ({ values: { device: type }, ...counts }));
  }
  const named = dimension === "browser" ? browsers : os;
  return named.map(({ name, ...counts }) => ({ values: { [dimension]: name }, ...counts }));
}

type Page = ResponseBody<"getAccountBreakdown">;

export type CountedValues = Page["data"][number];

/** Values of one request, the API's maximum. */
const PAGE_SIZE = 100;

/** Queries the values, those with the most clicks first. */
export function useAllValues(dimensions: readonly Dimension[]) {
  const { scope } = useAccountContext();
  const analyticsQuery = useAnalyticsQuery();
  const search = toSearch({
    ...toQuery(analyticsQuery),
    by: dimensions.join(","),
    limit: `${PAGE_SIZE}`,
  });
  return useInfiniteQuery({
    queryKey: ["analytics", scope, analyticsQuery.path, "all values", search],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      getJson<Page>(`${analyticsQuery.path}/breakdown?${search}`, {
        query: pageParam === "" ? {} : { starting_after: pageParam },
        signal,
      }),
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
}

/** The columns of a table of values. */
export const countColumns = (): Column<CountedValues>[] => [
  numberColumn(t("statistics.clicks"), ({ clicks }) => formatCount(clicks)),
  numberColumn(t("fields.class"), ({ unique_clicks }) => formatCount(unique_clicks)),
  numberColumn(t("analytics.values.share"), ({ percentage }) => formatPercent(percentage)),
];

/**
 * The name of a row's value: a button that filters the whole page by it. A link's name opens its
 * page instead.
 */
export function ValueName({
  row: { values, name, link: linkName },
  dimension,
}: {
  row: Omit<ValueRow, "clicks" | "percentage">;
  dimension: Dimension;
}) {
  const { filters, subject } = useAnalyticsQuery();
  const { link } = values;
  if (link !== undefined) return <LinkName id={link} name={linkName} />;
  const text = name ?? describeValue(dimension, values[dimension] ?? "", statisticsLanguage());
  const own = filtersOf(values);
  const content = <ValueText values={values} dimension={dimension} name={text} />;
  // The page is about this value.
  if (subject?.name === dimension) return content;
  const isActive = own.every((filter) => filters.some((each) => isSameFilter(each, filter)));
  return (
    <button
      type="button"
      className="value-button"
      aria-pressed={isActive}
      title={t(isActive ? "analytics.filters.removeValue" : "analytics.filters.showOnly", {
        value: text,
      })}
      onClick={() => toggleInUrl(own)}
    >
      {content}
    </button>
  );
}

/** The short URL and title of a link; null when it is deleted. */
type Name = { short_url: string | null; title: string | null };

/** Queries the name unless it is passed. */
export function LinkName({ id, name }: { id: string; name?: Name | undefined }) {
  const { viewSearch } = useAnalyticsQuery();
  const { data, error } = useApiQuery(["link", id], (client) => client.links.get(id), {
    enabled: name === undefined,
  });
  const link = name ?? data;
  const isDeleted = name?.short_url === null || isNotFound(error);
  if (link === undefined || link.short_url === null) {
    return <span className="hint">{isDeleted ? t("analytics.deletedLink", { id }) : id}</span>;
  }
  return (
    <>
      <PageLink href={`/links/${id}${viewSearch}`}>{readableUrl(link.short_url)}</PageLink>
      {link.title !== null && <small className="hint"> {link.title}</small>}
    </>
  );
}

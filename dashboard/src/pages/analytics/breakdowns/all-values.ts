/** All values of one or two dimensions, page by page. */
import { useInfiniteQuery } from "@tanstack/react-query";

import type { ResponseBody } from "../../../../../clients/typescript/src/index.ts";
import { getJson } from "../../../data/http.ts";
import { toSearch } from "../../../data/scope.ts";
import { useAccountContext } from "../../../data/session.ts";
import { toQuery } from "../analytics-path.ts";
import { useAnalyticsQuery } from "../analytics-query.ts";
import type { Dimension } from "../dimensions.ts";

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

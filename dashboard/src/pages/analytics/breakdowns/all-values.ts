/** All values of one or two dimensions, page by page. */
import { useInfiniteQuery } from "@tanstack/react-query";

import type { ResponseBody } from "../../../../../clients/typescript/src/index.ts";
import { getJson } from "../../../data/http.ts";
import { useAccountContext } from "../../../data/session.ts";
import type { Dimension } from "../dimensions.ts";
import { toQuery, toSearch, useQuestion } from "../question.ts";

type Page = ResponseBody<"getAccountBreakdown">;

export type CountedValues = Page["data"][number];

/** Values of one request, the API's maximum. */
const PAGE_SIZE = 100;

/** The values with the most clicks first. */
export function useAllValues(dimensions: readonly Dimension[]) {
  const { scope } = useAccountContext();
  const question = useQuestion();
  const search = toSearch({
    ...toQuery(question),
    by: dimensions.join(","),
    limit: `${PAGE_SIZE}`,
  });
  return useInfiniteQuery({
    queryKey: ["analytics", scope, question.path, "all values", search],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      getJson<Page>(`${question.path}/breakdown?${search}`, {
        query: pageParam === "" ? {} : { starting_after: pageParam },
        signal,
      }),
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
}

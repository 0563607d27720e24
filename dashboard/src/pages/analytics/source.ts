/** Data sources of the breakdowns: one link, or all links of the account. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { Query, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { type AccountScope, getBasePath, getClient } from "../../data/http.ts";
import { useAccountContext } from "../../data/session.ts";
import { type Range, toRangeQuery } from "./range.ts";

type Options = { signal: AbortSignal };

/** Only the breakdowns of a single link have a `link_id`. */
type WithoutLinkId<Response> = Omit<Response, "link_id">;

export type Source = {
  /** Path in the API, also part of the query keys. */
  path: string;
  geo(
    query: Query<"getAccountGeo">,
    options: Options,
  ): Promise<WithoutLinkId<ResponseBody<"getGeo">>>;
  devices(
    query: Query<"getAccountDevices">,
    options: Options,
  ): Promise<WithoutLinkId<ResponseBody<"getDevices">>>;
  referrers(
    query: Query<"getAccountReferrers">,
    options: Options,
  ): Promise<WithoutLinkId<ResponseBody<"getReferrers">>>;
};

export function linkSource(scope: AccountScope, id: string): Source {
  const { analytics } = getClient(scope);
  return {
    path: `${getBasePath(scope)}/v1/analytics/${id}`,
    geo: (query, options) => analytics.geo(id, query, options),
    devices: (query, options) => analytics.devices(id, query, options),
    referrers: (query, options) => analytics.referrers(id, query, options),
  };
}

export function accountSource(scope: AccountScope): Source {
  const { analytics } = getClient(scope);
  return {
    path: `${getBasePath(scope)}/v1/analytics`,
    geo: analytics.accountGeo,
    devices: analytics.accountDevices,
    referrers: analytics.accountReferrers,
  };
}

/** Queries one breakdown, and returns the path of the same data as CSV. */
export function useBreakdown<Data>(
  { path, range }: { path: string; range: Range },
  subpath: string,
  params: Record<string, string>,
  fetchData: (options: Options) => Promise<Data>,
) {
  const { scope } = useAccountContext();
  const query = useQuery({
    queryKey: ["analytics", scope, path, subpath, toRangeQuery(range), params],
    queryFn: ({ signal }) => fetchData({ signal }),
    placeholderData: keepPreviousData,
  });
  const search = new URLSearchParams({ ...toRangeQuery(range), ...params });
  return { query, csvPath: `${path}${subpath}?${search.toString()}` };
}

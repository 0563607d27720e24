/** Where a view's numbers come from: one link, or all of them. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { Answer, Query } from "../../../../clients/typescript/src/index.ts";
import { baseOf, clientOf, type Place } from "../../data/http.ts";
import { useHere } from "../../data/session.ts";
import { queryOf, type Range } from "./range.ts";

type Options = { signal: AbortSignal };

/** Breakdowns of a link name it beside; nobody reads that here. */
type Without<Named> = Omit<Named, "link_id">;

export type Source = {
  /** Where it is in the API; what its answers are kept under. */
  path: string;
  geo(query: Query<"getAccountGeo">, options: Options): Promise<Without<Answer<"getGeo">>>;
  devices(
    query: Query<"getAccountDevices">,
    options: Options,
  ): Promise<Without<Answer<"getDevices">>>;
  referrers(
    query: Query<"getAccountReferrers">,
    options: Options,
  ): Promise<Without<Answer<"getReferrers">>>;
};

export function linkSource(place: Place, id: string): Source {
  const { analytics } = clientOf(place);
  return {
    path: `${baseOf(place)}/v1/analytics/${id}`,
    geo: (query, options) => analytics.geo(id, query, options),
    devices: (query, options) => analytics.devices(id, query, options),
    referrers: (query, options) => analytics.referrers(id, query, options),
  };
}

export function accountSource(place: Place): Source {
  const { analytics } = clientOf(place);
  return {
    path: `${baseOf(place)}/v1/analytics`,
    geo: analytics.accountGeo,
    devices: analytics.accountDevices,
    referrers: analytics.accountReferrers,
  };
}

/** What a part of a view asks, and where the same is to be had as CSV. */
export function usePart<Data>(
  { path, range }: { path: string; range: Range },
  part: string,
  extra: Record<string, string>,
  ask: (options: Options) => Promise<Data>,
) {
  const { place } = useHere();
  const query = useQuery({
    queryKey: ["analytics", place, path, part, queryOf(range), extra],
    queryFn: ({ signal }) => ask({ signal }),
    placeholderData: keepPreviousData,
  });
  const search = new URLSearchParams({ ...queryOf(range), ...extra });
  return { query, csv: `${path}${part}?${search.toString()}` };
}

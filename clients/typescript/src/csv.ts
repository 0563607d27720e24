/** Reports as CSV. */
import type { CallOptions } from "./calls.ts";
import type { ApiRequest } from "./http.ts";
import { path } from "./path.ts";
import type { Query } from "./types.ts";

type FetchCsv = (
  path: string,
  query?: ApiRequest["query"],
  options?: CallOptions,
) => Promise<string>;

/** Creates the functions that return reports as CSV. */
export const createCsv = (csv: FetchCsv) => ({
  /** Clicks of all links, over time. */
  account: (query: Query<"getAccountAnalytics"> = {}, options?: CallOptions) =>
    csv("/v1/analytics", query, options),
  /** Clicks of all links by country, region or city. */
  accountGeo: (query: Query<"getAccountGeo"> = {}, options?: CallOptions) =>
    csv("/v1/analytics/geo", query, options),
  /** Clicks of all links by device, browser and system. */
  accountDevices: (query: Query<"getAccountDevices"> = {}, options?: CallOptions) =>
    csv("/v1/analytics/devices", query, options),
  /** Clicks of all links by referrer. */
  accountReferrers: (query: Query<"getAccountReferrers"> = {}, options?: CallOptions) =>
    csv("/v1/analytics/referrers", query, options),
  /** Clicks of all links by one or two dimensions. */
  accountBreakdown: (query: Query<"getAccountBreakdown">, options?: CallOptions) =>
    csv("/v1/analytics/breakdown", query, options),
  /** Clicks of all links by weekday and hour. */
  accountTimes: (query: Query<"getAccountTimes"> = {}, options?: CallOptions) =>
    csv("/v1/analytics/times", query, options),
  /** Requests that reached no destination, by reason, over time. */
  failures: (query: Query<"getFailures"> = {}, options?: CallOptions) =>
    csv("/v1/analytics/failures", query, options),
  /** Clicks of a link, over time. */
  summary: async (link: string, query: Query<"getLinkAnalytics"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}`, query, options),
  /** Clicks of a link by country, region or city. */
  geo: async (link: string, query: Query<"getLinkGeo"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/geo`, query, options),
  /** Clicks of a link by device, browser and system. */
  devices: async (link: string, query: Query<"getLinkDevices"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/devices`, query, options),
  /** Clicks of a link by referrer. */
  referrers: async (link: string, query: Query<"getLinkReferrers"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/referrers`, query, options),
  /** Clicks of a link by rule, by arm of its split, and of its own destination. */
  targets: async (link: string, query: Query<"getLinkTargets"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/targets`, query, options),
  /** Clicks of a link by one or two dimensions. */
  breakdown: async (link: string, query: Query<"getLinkBreakdown">, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/breakdown`, query, options),
  /** Clicks of a link by weekday and hour. */
  times: async (link: string, query: Query<"getLinkTimes"> = {}, options?: CallOptions) =>
    csv(path`/v1/analytics/${link}/times`, query, options),
});

/** `/v1/analytics`. */
import type { CallOptions, Calls } from "./calls.ts";
import { LINKS_MAX, splitIntoChunks } from "./chunks.ts";
import { path } from "./http.ts";
import { followClicks, type StreamOptions } from "./live.ts";
import { followCursor } from "./pagination.ts";
import type { Body, Query, ResponseBody } from "./types.ts";

/** The functions for analytics. */
export class Analytics {
  readonly #calls: Calls;
  /**
   * The same reports as CSV, with a header line; cells that a spreadsheet would take for formulas
   * are escaped.
   *
   * @throws ShorthopError As the functions of the same name.
   * @example
   * await writeFile("countries.csv", await shorthop.analytics.csv.geo(link.id, { period: "30d" }));
   */
  readonly csv: CsvReports;

  constructor(calls: Calls) {
    this.#calls = calls;
    this.csv = new CsvReports(calls);
  }

  /**
   * Returns clicks and unique visitors of all links together, over time.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { summary } = await shorthop.analytics.account({ period: "7d" });
   */
  account(query: Query<"getAccountAnalytics"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountAnalytics">>("/v1/analytics", query, options);
  }

  /**
   * Returns the clicks of all links by country, region or city.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.accountGeo({ group_by: "city", period: "30d" });
   */
  accountGeo(query: Query<"getAccountGeo"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountGeo">>("/v1/analytics/geo", query, options);
  }

  /**
   * Returns the clicks of all links by device, browser and operating system.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { devices } = await shorthop.analytics.accountDevices();
   */
  accountDevices(query: Query<"getAccountDevices"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountDevices">>(
      "/v1/analytics/devices",
      query,
      options,
    );
  }

  /**
   * Returns the clicks of all links by referrer.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { referrers } = await shorthop.analytics.accountReferrers();
   */
  accountReferrers(query: Query<"getAccountReferrers"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountReferrers">>(
      "/v1/analytics/referrers",
      query,
      options,
    );
  }

  /**
   * Returns the clicks of all links by one dimension or two, and the next page's `next_cursor`.
   *
   * @throws ShorthopError `invalid_request` for an unknown dimension, `unavailable`.
   * @example const { data } = await shorthop.analytics.accountBreakdown({ by: "country,device",
   * period: "30d" });
   */
  accountBreakdown(query: Query<"getAccountBreakdown">, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountBreakdown">>(
      "/v1/analytics/breakdown",
      query,
      options,
    );
  }

  /**
   * Iterates over every entry of a breakdown of all links, most clicks first.
   *
   * @throws ShorthopError From the iteration, as `accountBreakdown` does.
   * @example
   * for await (const { values, clicks } of shorthop.analytics.accountBreakdownAll({ by: "city" }))
   *   console.log(values.city, clicks);
   */
  accountBreakdownAll(query: Query<"getAccountBreakdown">, options?: CallOptions) {
    return followCursor((position) =>
      this.#calls.get<ResponseBody<"getAccountBreakdown">>(
        "/v1/analytics/breakdown",
        { ...query, ...position },
        options,
      ),
    );
  }

  /**
   * Returns the clicks of all links by weekday and hour: `heatmap[0][8]` are those on Mondays from
   * 8 to 9.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { heatmap } = await shorthop.analytics.accountTimes({ timezone: "Europe/Berlin" });
   */
  accountTimes(query: Query<"getAccountTimes"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getAccountTimes">>("/v1/analytics/times", query, options);
  }

  /**
   * Returns clicks and unique visitors of a link, over time.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { summary } = await shorthop.analytics.summary(link.id, { period: "24h" });
   */
  async summary(link: string, query: Query<"getLinkAnalytics"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkAnalytics">>(
      path`/v1/analytics/${link}`,
      query,
      options,
    );
  }

  /**
   * Returns a link's clicks by country, region or city.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.geo(link.id, { group_by: "country" });
   */
  async geo(link: string, query: Query<"getLinkGeo"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkGeo">>(
      path`/v1/analytics/${link}/geo`,
      query,
      options,
    );
  }

  /**
   * Returns a link's clicks by device, browser and operating system.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { devices } = await shorthop.analytics.devices(link.id);
   */
  async devices(link: string, query: Query<"getLinkDevices"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkDevices">>(
      path`/v1/analytics/${link}/devices`,
      query,
      options,
    );
  }

  /**
   * Returns a link's clicks by referrer.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { referrers } = await shorthop.analytics.referrers(link.id);
   */
  async referrers(link: string, query: Query<"getLinkReferrers"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkReferrers">>(
      path`/v1/analytics/${link}/referrers`,
      query,
      options,
    );
  }

  /**
   * Returns a link's clicks by rule, by arm of its split, and of its own destination.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.targets(link.id, { period: "7d" });
   */
  async targets(link: string, query: Query<"getLinkTargets"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkTargets">>(
      path`/v1/analytics/${link}/targets`,
      query,
      options,
    );
  }

  /**
   * Returns a link's clicks by one dimension or two, and the next page's `next_cursor`.
   *
   * @throws ShorthopError `not_found`, `invalid_request` for an unknown dimension, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.breakdown(link.id, { by: "referrer,country" });
   */
  async breakdown(link: string, query: Query<"getLinkBreakdown">, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkBreakdown">>(
      path`/v1/analytics/${link}/breakdown`,
      query,
      options,
    );
  }

  /**
   * Iterates over every entry of a link's breakdown, most clicks first.
   *
   * @throws ShorthopError From the iteration, as `breakdown` does.
   * @example for await (const { values, clicks } of shorthop.analytics.breakdownAll(link.id, { by:
   * "city" }))
   *   console.log(values.city, clicks);
   */
  breakdownAll(link: string, query: Query<"getLinkBreakdown">, options?: CallOptions) {
    return followCursor(async (position) =>
      this.#calls.get<ResponseBody<"getLinkBreakdown">>(
        path`/v1/analytics/${link}/breakdown`,
        { ...query, ...position },
        options,
      ),
    );
  }

  /**
   * Returns a link's clicks by weekday and hour: `heatmap[0][8]` are those on Mondays from 8 to 9.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { heatmap, last_click_at } = await shorthop.analytics.times(link.id);
   */
  async times(link: string, query: Query<"getLinkTimes"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getLinkTimes">>(
      path`/v1/analytics/${link}/times`,
      query,
      options,
    );
  }

  /**
   * Returns how many requests reached no destination, by reason: unknown aliases, expired links,
   * wrong passwords and others.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { unknown_aliases } = await shorthop.analytics.failures({ domain: "go.example.com" });
   */
  failures(query: Query<"getFailures"> = {}, options?: CallOptions) {
    return this.#calls.get<ResponseBody<"getFailures">>("/v1/analytics/failures", query, options);
  }

  /**
   * Returns counts of any number of links, in requests of up to 100. Links that do not exist are
   * listed under `errors`.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example const { data } = await shorthop.analytics.bulk({ link_ids: [first.id, second.id],
   * period: "7d" });
   */
  async bulk(
    { link_ids, ...body }: Body<"getBulkAnalytics">,
    { signal }: CallOptions = {},
  ): Promise<ResponseBody<"getBulkAnalytics">> {
    const all: ResponseBody<"getBulkAnalytics"> = { data: [] };
    // An empty list is sent as well: the API says what is wrong with it.
    const chunks = link_ids.length === 0 ? [[]] : splitIntoChunks(link_ids, LINKS_MAX);
    for (const chunk of chunks) {
      const { data, errors } = await this.#calls.json<ResponseBody<"getBulkAnalytics">>({
        method: "POST",
        path: "/v1/analytics/bulk",
        body: { ...body, link_ids: chunk },
        signal,
      });
      all.data.push(...data);
      if (errors !== undefined) all.errors = [...(all.errors ?? []), ...errors];
    }
    return all;
  }

  /**
   * Yields the clicks of a link as they happen, and connects again when the connection ends. Ends
   * with `break`, or with the signal, which rejects.
   *
   * @throws ShorthopError From the iteration: `not_found`, `quota_exceeded` for too many open
   * streams, `aborted`.
   * @example for await (const { country, device } of shorthop.analytics.stream(link.id))
   * console.log(country, device);
   */
  stream(link: string, options: StreamOptions = {}) {
    return followClicks(this.#calls, link, options);
  }
}

/** Reports as CSV. */
class CsvReports {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Clicks of all links, over time. */
  account(query: Query<"getAccountAnalytics"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics", query, options);
  }

  /** Clicks of all links by country, region or city. */
  accountGeo(query: Query<"getAccountGeo"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/geo", query, options);
  }

  /** Clicks of all links by device, browser and system. */
  accountDevices(query: Query<"getAccountDevices"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/devices", query, options);
  }

  /** Clicks of all links by referrer. */
  accountReferrers(query: Query<"getAccountReferrers"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/referrers", query, options);
  }

  /** Clicks of all links by one or two dimensions. */
  accountBreakdown(query: Query<"getAccountBreakdown">, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/breakdown", query, options);
  }

  /** Clicks of all links by weekday and hour. */
  accountTimes(query: Query<"getAccountTimes"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/times", query, options);
  }

  /** Requests that reached no destination, by reason, over time. */
  failures(query: Query<"getFailures"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/analytics/failures", query, options);
  }

  /** Clicks of a link, over time. */
  async summary(link: string, query: Query<"getLinkAnalytics"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}`, query, options);
  }

  /** Clicks of a link by country, region or city. */
  async geo(link: string, query: Query<"getLinkGeo"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/geo`, query, options);
  }

  /** Clicks of a link by device, browser and system. */
  async devices(link: string, query: Query<"getLinkDevices"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/devices`, query, options);
  }

  /** Clicks of a link by referrer. */
  async referrers(link: string, query: Query<"getLinkReferrers"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/referrers`, query, options);
  }

  /** Clicks of a link by rule, by arm of its split, and of its own destination. */
  async targets(link: string, query: Query<"getLinkTargets"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/targets`, query, options);
  }

  /** Clicks of a link by one or two dimensions. */
  async breakdown(link: string, query: Query<"getLinkBreakdown">, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/breakdown`, query, options);
  }

  /** Clicks of a link by weekday and hour. */
  async times(link: string, query: Query<"getLinkTimes"> = {}, options?: CallOptions) {
    return this.#calls.csv(path`/v1/analytics/${link}/times`, query, options);
  }
}

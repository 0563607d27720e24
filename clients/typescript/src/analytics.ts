/** `/v1/analytics`. */
import { type CallOptions, type Calls, followCursor, LINKS_MAX, splitIntoChunks } from "./calls.ts";
import { type ApiRequest, path } from "./http.ts";
import { followClicks, type StreamOptions } from "./live.ts";
import type { Body, OperationId, Query, ResponseBody } from "./types.ts";

type Format = "json" | "csv";

type ReportAs<As extends Format, Id extends OperationId> = As extends "csv"
  ? string
  : ResponseBody<Id>;

/** Reports as objects, or as texts of CSV. */
class ClickReports<As extends Format> {
  readonly #calls: Calls;
  readonly #format: As;

  constructor(calls: Calls, format: As) {
    this.#calls = calls;
    this.#format = format;
  }

  async #read<Id extends OperationId>(
    of: string,
    query: ApiRequest["query"],
    options?: CallOptions,
  ): Promise<ReportAs<As, Id>> {
    const report: unknown =
      this.#format === "csv"
        ? await this.#calls.csv(of, query, options)
        : await this.#calls.get<Id>(of, query, options);
    // The type depends on the format, as the request does.
    return report as ReportAs<As, Id>;
  }

  /**
   * Returns clicks and unique visitors of all links together, over time.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { summary } = await shorthop.analytics.account({ period: "7d" });
   */
  account(query: Query<"getAccountAnalytics"> = {}, options?: CallOptions) {
    return this.#read<"getAccountAnalytics">("/v1/analytics", query, options);
  }

  /**
   * Returns the clicks of all links by country, region or city.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.accountGeo({ group_by: "city", period: "30d" });
   */
  accountGeo(query: Query<"getAccountGeo"> = {}, options?: CallOptions) {
    return this.#read<"getAccountGeo">("/v1/analytics/geo", query, options);
  }

  /**
   * Returns the clicks of all links by device, browser and operating system.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { devices } = await shorthop.analytics.accountDevices();
   */
  accountDevices(query: Query<"getAccountDevices"> = {}, options?: CallOptions) {
    return this.#read<"getAccountDevices">(
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
    return this.#read<"getAccountReferrers">(
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
    return this.#read<"getAccountBreakdown">(
      "/v1/analytics/breakdown",
      query,
      options,
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
    return this.#read<"getAccountTimes">("/v1/analytics/times", query, options);
  }

  /**
   * Returns clicks and unique visitors of a link, over time.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { summary } = await shorthop.analytics.summary(link.id, { period: "24h" });
   */
  async summary(link: string, query: Query<"getLinkAnalytics"> = {}, options?: CallOptions) {
    return this.#read<"getLinkAnalytics">(
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
    return this.#read<"getLinkGeo">(
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
    return this.#read<"getLinkDevices">(
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
    return this.#read<"getLinkReferrers">(
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
    return this.#read<"getLinkTargets">(
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
    return this.#read<"getLinkBreakdown">(
      path`/v1/analytics/${link}/breakdown`,
      query,
      options,
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
    return this.#read<"getLinkTimes">(
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
    return this.#read<"getFailures">("/v1/analytics/failures", query, options);
  }
}

/** The functions for analytics. */
export class Analytics extends ClickReports<"json"> {
  readonly #calls: Calls;
  /**
   * The same reports as CSV, with a header line; cells that a spreadsheet would take for formulas
   * are escaped.
   *
   * @throws ShorthopError As the functions of the same name.
   * @example
   * await writeFile("countries.csv", await shorthop.analytics.csv.geo(link.id, { period: "30d" }));
   */
  readonly csv: ClickReports<"csv">;

  constructor(calls: Calls) {
    super(calls, "json");
    this.#calls = calls;
    this.csv = new ClickReports(calls, "csv");
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
      this.#calls.get<"getAccountBreakdown">(
        "/v1/analytics/breakdown",
        { ...query, ...position },
        options,
      ),
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
      this.#calls.get<"getLinkBreakdown">(
        path`/v1/analytics/${link}/breakdown`,
        { ...query, ...position },
        options,
      ),
    );
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
    options?: CallOptions,
  ): Promise<ResponseBody<"getBulkAnalytics">> {
    const all: ResponseBody<"getBulkAnalytics"> = { data: [] };
    // An empty list is sent as well: the API says what is wrong with it.
    const chunks = link_ids.length === 0 ? [[]] : splitIntoChunks(link_ids, LINKS_MAX);
    for (const chunk of chunks) {
      const part = { ...body, link_ids: chunk };
      const { data, errors } = await this.#calls.change<"getBulkAnalytics">("POST", "/v1/analytics/bulk", part, options);
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

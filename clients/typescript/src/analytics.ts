/** `/v1/analytics`. */
import { type CallOptions, type Calls, followCursor, splitIntoChunks } from "./calls.ts";
import { ShorthopError } from "./errors.ts";
import { abortedBy, type ApiRequest, computeRetryDelayMs, delay, path, readLines } from "./http.ts";
import type { components } from "./schema.ts";
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
    return this.#read<"getAccountDevices">("/v1/analytics/devices", query, options);
  }

  /**
   * Returns the clicks of all links by referrer.
   *
   * @throws ShorthopError `invalid_request`, `unavailable`.
   * @example
   * const { referrers } = await shorthop.analytics.accountReferrers();
   */
  accountReferrers(query: Query<"getAccountReferrers"> = {}, options?: CallOptions) {
    return this.#read<"getAccountReferrers">("/v1/analytics/referrers", query, options);
  }

  /**
   * Returns the clicks of all links by one dimension or two, and the next page's `next_cursor`.
   *
   * @throws ShorthopError `invalid_request` for an unknown dimension, `unavailable`.
   * @example const { data } = await shorthop.analytics.accountBreakdown({ by: "country,device",
   * period: "30d" });
   */
  accountBreakdown(query: Query<"getAccountBreakdown">, options?: CallOptions) {
    return this.#read<"getAccountBreakdown">("/v1/analytics/breakdown", query, options);
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
    return this.#read<"getLinkAnalytics">(path`/v1/analytics/${link}`, query, options);
  }

  /**
   * Returns a link's clicks by country, region or city.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.geo(link.id, { group_by: "country" });
   */
  async geo(link: string, query: Query<"getLinkGeo"> = {}, options?: CallOptions) {
    return this.#read<"getLinkGeo">(path`/v1/analytics/${link}/geo`, query, options);
  }

  /**
   * Returns a link's clicks by device, browser and operating system.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { devices } = await shorthop.analytics.devices(link.id);
   */
  async devices(link: string, query: Query<"getLinkDevices"> = {}, options?: CallOptions) {
    return this.#read<"getLinkDevices">(path`/v1/analytics/${link}/devices`, query, options);
  }

  /**
   * Returns a link's clicks by referrer.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { referrers } = await shorthop.analytics.referrers(link.id);
   */
  async referrers(link: string, query: Query<"getLinkReferrers"> = {}, options?: CallOptions) {
    return this.#read<"getLinkReferrers">(path`/v1/analytics/${link}/referrers`, query, options);
  }

  /**
   * Returns a link's clicks by rule, by arm of its split, and of its own destination.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.targets(link.id, { period: "7d" });
   */
  async targets(link: string, query: Query<"getLinkTargets"> = {}, options?: CallOptions) {
    return this.#read<"getLinkTargets">(path`/v1/analytics/${link}/targets`, query, options);
  }

  /**
   * Returns a link's clicks by one dimension or two, and the next page's `next_cursor`.
   *
   * @throws ShorthopError `not_found`, `invalid_request` for an unknown dimension, `unavailable`.
   * @example
   * const { data } = await shorthop.analytics.breakdown(link.id, { by: "referrer,country" });
   */
  async breakdown(link: string, query: Query<"getLinkBreakdown">, options?: CallOptions) {
    return this.#read<"getLinkBreakdown">(path`/v1/analytics/${link}/breakdown`, query, options);
  }

  /**
   * Returns a link's clicks by weekday and hour: `heatmap[0][8]` are those on Mondays from 8 to 9.
   *
   * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
   * @example
   * const { heatmap, last_click_at } = await shorthop.analytics.times(link.id);
   */
  async times(link: string, query: Query<"getLinkTimes"> = {}, options?: CallOptions) {
    return this.#read<"getLinkTimes">(path`/v1/analytics/${link}/times`, query, options);
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
    const chunks = link_ids.length === 0 ? [[]] : splitIntoChunks(link_ids, (id) => id);
    for (const chunk of chunks) {
      const part = { ...body, link_ids: chunk };
      const { data, errors } = await this.#calls.post<"getBulkAnalytics">(
        "/v1/analytics/bulk",
        part,
        options,
      );
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

/**
 * A click of a live stream, with the id to resume after it.
 *
 * @example
 * const isFromGermany = ({ country }: LiveClick) => country === "DE";
 */
export type LiveClick = components["schemas"]["ClickEvent"] & { id: string };

/**
 * Options of a live stream.
 *
 * @example
 * for await (const click of shorthop.analytics.stream(id, { lastEventId: saved })) save(click.id);
 */
export type StreamOptions = {
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Resumes after a click that was received before, with up to 1,000 that were missed. */
  lastEventId?: string;
  /** Only clicks that match, e.g. `{ country: ["DE", "AT"] }`. */
  filters?: Query<"streamLinkClicks">;
};

/** The longest delay before a stream is opened again. */
const RECONNECT_MAX_MS = 10_000;

/**
 * Yields clicks, and connects again after the last one when the connection ends; rejects when that
 * fails.
 */
async function* followClicks(
  calls: Calls,
  link: string,
  { signal, lastEventId, filters }: StreamOptions,
): AsyncGenerator<LiveClick, void, undefined> {
  let last = lastEventId;
  for (let failures = 0; ; failures++) {
    const response = await calls.send({
      method: "GET",
      path: path`/v1/analytics/${link}/stream`,
      signal,
      query: filters,
      headers: { "last-event-id": last },
      stream: true,
    });
    try {
      if (response.body === null) return;
      for await (const { id, type, data } of readEvents(response.body)) {
        if (type !== "click" || id === undefined) continue;
        last = id;
        failures = 0;
        // The API validates its events against the schema that the type was generated from.
        yield { ...(JSON.parse(data) as components["schemas"]["ClickEvent"]), id };
      }
    } catch (error) {
      if (error instanceof ShorthopError) throw error;
      if (signal?.aborted === true) throw abortedBy(error);
    }
    const lost = new ShorthopError(0, "network", "The stream has ended.");
    await delay(Math.min(computeRetryDelayMs(lost, failures), RECONNECT_MAX_MS), signal);
  }
}

type ServerEvent = { id: string | undefined; type: string; data: string };

/** The most characters of an event that is not complete; those of the API have some hundreds. */
const EVENT_LENGTH_MAX = 1_000_000;

/**
 * Yields the server-sent events of a stream in order
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Throws when one is too long.
 */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let lines: string[] = [];
  let length = 0;
  for await (const line of readLines(body)) {
    const text = line.replace(/\r$/, "");
    length += text.length;
    if (length > EVENT_LENGTH_MAX) throw new Error("An event of the stream is too long.");
    lines.push(text);
    // An empty line ends an event.
    if (text !== "") continue;
    const event = parseEvent(lines);
    [lines, length] = [[], 0];
    if (event !== undefined) yield event;
  }
}

/** Parses the lines of an event; undefined for one without data, such as a comment. */
function parseEvent(lines: readonly string[]): ServerEvent | undefined {
  const data: string[] = [];
  let id: string | undefined;
  let type = "message";
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "event") type = value;
  }
  return data.length === 0 ? undefined : { id, type, data: data.join("\n") };
}

/** `/v1/clicks`. */
import { type CallOptions, type Calls, followCursor } from "./calls.ts";
import { ShorthopError } from "./errors.ts";
import { abortedBy, readLines } from "./http.ts";
import type { Click, Query } from "./types.ts";

/** The most clicks that the API returns at once. */
const LIMIT_MAX = 1_000;

/** The functions for single clicks. */
export class Clicks {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Returns a page of single clicks, newest first, and the next page's `next_cursor`.
   *
   * @throws ShorthopError `not_found` for an unknown link, `invalid_request`, `unavailable`.
   * @example
   * const { data, next_cursor } = await shorthop.clicks.list({ link_id: link.id, limit: 50 });
   */
  list(query: Query<"listClicks"> = {}, options?: CallOptions) {
    return this.#calls.get<"listClicks">("/v1/clicks", query, options);
  }

  /**
   * Iterates over every single click of a period, newest first: for the latest ones. `export` is
   * cheaper for all.
   *
   * @throws ShorthopError From the iteration, as `list` does.
   * @example for await (const { time, country } of shorthop.clicks.all({ period: "24h" }))
   * console.log(time, country);
   */
  all(query: Omit<Query<"listClicks">, "starting_after"> = {}, options?: CallOptions) {
    return followCursor<Click>((position) =>
      this.#calls.get<"listClicks">(
        "/v1/clicks",
        { limit: LIMIT_MAX, ...query, ...position },
        options,
      ),
    );
  }

  /**
   * Yields every single click of a period as the API sends them, in the order of links and times,
   * for a warehouse of your own. Nothing is held but what has just arrived.
   *
   * @throws ShorthopError As `list`, and from the iteration `network` if the export breaks off:
   * then clicks are missing.
   * @example for await (const click of shorthop.clicks.export({ period: "90d" })) await
   * warehouse.insert(click);
   */
  async *export(
    query: Query<"exportClicks"> = {},
    { signal }: CallOptions = {},
  ): AsyncGenerator<Click, void, undefined> {
    const { body } = await this.#calls.send({
      method: "GET",
      path: "/v1/clicks/export",
      query,
      signal,
      stream: true,
    });
    if (body === null) return;
    const lines = readLines(body);
    try {
      // The API makes its lines from the schema that the type was generated from.
      for await (const line of lines) yield JSON.parse(line) as Click;
    } catch (cause) {
      if (signal?.aborted === true) throw abortedBy(signal.reason);
      throw new ShorthopError(0, "network", "The export broke off.", { cause });
    }
  }

  /**
   * The same page as `list`, as CSV with a header line.
   *
   * @throws ShorthopError As `list`.
   * @example
   * await writeFile("clicks.csv", await shorthop.clicks.csv({ link_id: link.id, limit: 1_000 }));
   */
  csv(query: Query<"listClicks"> = {}, options?: CallOptions) {
    return this.#calls.csv("/v1/clicks", query, options);
  }
}

/** Follows the clicks of a link as they happen. */
import { ShorthopError } from "./errors.ts";
import { readEvents } from "./events.ts";
import { abortedBy, type ApiRequest, computeRetryDelayMs, delay } from "./http.ts";
import { path } from "./path.ts";
import type { components } from "./schema.ts";
import type { Query } from "./types.ts";

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

type Send = (request: ApiRequest) => Promise<Response>;

/**
 * Yields clicks, and connects again after the last one when the connection ends; rejects when that
 * fails.
 */
export async function* followClicks(
  send: Send,
  link: string,
  { signal, lastEventId, filters }: StreamOptions,
): AsyncGenerator<LiveClick, void, undefined> {
  let last = lastEventId;
  for (let failures = 0; ; failures++) {
    const response = await send({
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

/** The longest delay before a stream is opened again. */
const RECONNECT_MAX_MS = 10_000;

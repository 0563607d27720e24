/** Follows the clicks of a link as they happen. */
import type { Calls } from "./calls.ts";
import { ShorthopError } from "./errors.ts";
import { abortedBy, computeRetryDelayMs, delay, path } from "./http.ts";
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

/** The longest delay before a stream is opened again. */
const RECONNECT_MAX_MS = 10_000;

/**
 * Yields clicks, and connects again after the last one when the connection ends; rejects when that
 * fails.
 */
export async function* followClicks(
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
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text = (text + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
      if (text.length > EVENT_LENGTH_MAX) throw new Error("An event of the stream is too long.");
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parseEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // Ends the connection when the iteration stops early.
    await reader.cancel().catch(() => undefined);
  }
}

/** Parses the lines of an event; undefined for one without data, such as a comment. */
function parseEvent(text: string): ServerEvent | undefined {
  const data: string[] = [];
  let id: string | undefined;
  let type = "message";
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "event") type = value;
  }
  return data.length === 0 ? undefined : { id, type, data: data.join("\n") };
}

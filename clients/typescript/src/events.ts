/** `/v1/events`. */
import type { CallOptions, Calls } from "./calls.ts";
import { ShorthopError } from "./errors.ts";
import { computeRetryDelayMs, delay } from "./http.ts";
import type { LedgerEvent, Query } from "./types.ts";

/** Longest time that a request waits for an event, in seconds. */
const WAIT_SECONDS = 20;

/** The longest delay before the feed is read again after a failure. */
const RETRY_MAX_MS = 10_000;

/** The events that the API returns at once. */
const LIMIT = 100;

/**
 * Which events to follow.
 *
 * @example
 * const options: FollowOptions = { starting_after: "latest", type: ["link.created"] };
 */
export type FollowOptions = Omit<Query<"listEvents">, "limit" | "order" | "wait"> & {
  /** Ends the iteration. */
  signal?: AbortSignal;
};

/** The functions for the ledger of events. */
export class Events {
  readonly #calls: Calls;
  readonly #waitSeconds: number;

  /** `timeoutMs` is that of one request: half of it is left for the response. */
  constructor(calls: Calls, timeoutMs = 30_000) {
    this.#calls = calls;
    this.#waitSeconds = Math.min(WAIT_SECONDS, Math.floor(timeoutMs / 2_000));
  }

  /**
   * Returns events after a cursor, oldest first; `wait` seconds are waited for one. With `order:
   * "desc"` newest first, and those before it.
   *
   * @throws ShorthopError `invalid_request`, `cursor_expired`, `not_found`.
   * @example
   * const { data, next_cursor } = await shorthop.events.list({ type: ["link.created"] });
   */
  list(query?: Query<"listEvents">, options?: CallOptions) {
    return this.#calls.get<"listEvents">("/v1/events", query, options);
  }

  /**
   * Yields every event as it happens, without end, and goes on where it was after the connection
   * or the API was away. Start again after the last event with `starting_after: event.id`.
   *
   * @throws ShorthopError `cursor_expired` when the events that follow have been deleted, and
   *   `forbidden`, `key_revoked`, `aborted`.
   * @example
   * for await (const event of shorthop.events.follow({ starting_after: saved })) save(event.id);
   */
  async *follow({ signal, starting_after, ...query }: FollowOptions = {}): AsyncGenerator<
    LedgerEvent,
    void,
    undefined
  > {
    let cursor = starting_after;
    for (let failures = 0; ;) {
      const position = cursor === undefined ? {} : { starting_after: cursor };
      try {
        const part = await this.list(
          { ...query, ...position, limit: LIMIT, wait: this.#waitSeconds },
          signal === undefined ? {} : { signal },
        );
        failures = 0;
        yield* part.data;
        cursor = part.next_cursor;
      } catch (error) {
        if (!isTransient(error)) throw error;
        await delay(Math.min(computeRetryDelayMs(error, failures++), RETRY_MAX_MS), signal);
      }
    }
  }
}

/** Whether the feed can be read later: without a connection, and while the API is busy or away. */
const isTransient = (error: unknown): boolean =>
  error instanceof ShorthopError &&
  (error.status >= 500 || error.status === 429 || ["network", "timeout"].includes(error.code));

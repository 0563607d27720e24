/**
 * Polls ClickHouse for new clicks of links that have live streams: one query per link and poll,
 * shared by all subscribers of the link. A click may be stored after later ones, so every poll
 * reads the last seconds again and recognises known clicks by their journal positions.
 */
import { type ClickHouse, queryRows } from "../../shared/clicks/query.ts";
import { COLUMN_FILTERS } from "../../shared/contracts/analytics.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { ColumnFilter } from "./filters.ts";

/** Time between two polls of a link. */
export const POLL_MS = 1_000;

/**
 * Maximum polls per second of all links together. One takes about 9 ms of ClickHouse's CPU time, so
 * this is at most half a core. With more links than this, each one is polled less often.
 */
const POLLS_PER_SECOND_MAX = 50;

/** A click is delivered if it is stored at most this long after a later click. */
const OVERLAP_MS = 15_000;

/**
 * A link with more clicks than a poll reads lags behind. Beyond this lag the poller skips to the
 * present, because a live stream shows current clicks.
 */
const LAG_MAX_MS = 60_000;

/** Maximum clicks that one query returns. */
export const ROWS_MAX = 1_000;

export type LiveRow = {
  /** Unix milliseconds. */
  ms: string;
  /** Journal, segment and index of the click, which identify it. */
  position: string;
  class: string;
  country: string;
  region: string;
  city: string;
  browser: string;
  os: string;
  device: string;
  referrer: string;
  // Columns that only filters read are not part of an event.
} & Partial<Record<ColumnFilter, string>>;

/** Reads the oldest (`ASC`) or latest (`DESC`) clicks of a link since an instant, in that order. */
export type ReadLiveRows = (
  linkId: Uuid,
  since: number,
  order: "ASC" | "DESC",
) => Promise<LiveRow[]>;

/** Reads clicks as {@link ReadLiveRows} says. */
export const readLiveRows = (
  clickhouse: ClickHouse,
  linkId: Uuid,
  since: number,
  order: "ASC" | "DESC",
): Promise<LiveRow[]> =>
  queryRows<LiveRow>(
    clickhouse,
    `SELECT toString(toUnixTimestamp64Milli(ts)) AS ms,
            concat(toString(journal_id), '.', toString(segment), '.', toString(idx)) AS position,
            class, ${COLUMN_FILTERS.join(", ")}
       FROM clicks
      WHERE link_id = {link_id: UUID} AND ts >= fromUnixTimestamp64Milli({since: Int64})
      ORDER BY ts ${order}, position ${order}
      LIMIT {limit: UInt32}`,
    { link_id: linkId, since, limit: ROWS_MAX },
  );

type Subscriber = (rows: readonly LiveRow[]) => void;

type LinkState = {
  subscribers: Set<Subscriber>;
  /** Unix milliseconds from which the next poll reads; never decreases. */
  since: number;
  /** Time of the latest click read. */
  latest: number;
  /** Clicks delivered from `since` on, by position: at most those of two polls. */
  delivered: Map<string, number>;
  failing: boolean;
};

export class ClickPoller {
  readonly #readRows: ReadLiveRows;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #links = new Map<Uuid, LinkState>();

  constructor(readRows: ReadLiveRows, log: Log, now = Date.now, sleep = Bun.sleep) {
    this.#readRows = readRows;
    this.#log = log;
    this.#now = now;
    this.#sleep = sleep;
  }

  /** Calls `subscriber` once with each new click, until the returned function is called. */
  subscribe(linkId: Uuid, subscriber: Subscriber): () => void {
    const running = this.#links.get(linkId);
    const state = running ?? this.#addLink(linkId);
    state.subscribers.add(subscriber);
    if (running === undefined) void this.#run(linkId, state);
    return () => void state.subscribers.delete(subscriber);
  }

  /**
   * Reads the latest clicks of a link since an instant (Unix milliseconds), oldest first, at most
   * {@link ROWS_MAX}.
   */
  async readSince(linkId: Uuid, since: number): Promise<LiveRow[]> {
    return (await this.#readRows(linkId, since, "DESC")).toReversed();
  }

  links(): number {
    return this.#links.size;
  }

  #addLink(linkId: Uuid): LinkState {
    const state = {
      subscribers: new Set<Subscriber>(),
      since: this.#now() - OVERLAP_MS,
      latest: 0,
      delivered: new Map<string, number>(),
      failing: false,
    };
    this.#links.set(linkId, state);
    return state;
  }

  async #run(linkId: Uuid, state: LinkState): Promise<void> {
    while (state.subscribers.size > 0) {
      try {
        await this.#poll(linkId, state);
        state.failing = false;
      } catch (error) {
        // Logged once per outage. The next successful poll reads the clicks stored meanwhile.
        if (!state.failing) this.#log.warn({ error }, "live_clicks_not_read");
        state.failing = true;
      }
      await this.#sleep(Math.max(POLL_MS, (this.#links.size * 1_000) / POLLS_PER_SECOND_MAX));
    }
    if (this.#links.get(linkId) === state) this.#links.delete(linkId);
  }

  async #poll(linkId: Uuid, state: LinkState): Promise<void> {
    const rows = await this.#readRows(linkId, state.since, "ASC");
    const fresh = rows.filter(({ position }) => !state.delivered.has(position));
    for (const { ms, position } of fresh) state.delivered.set(position, Number(ms));
    advance(state, rows, this.#now());
    for (const subscriber of state.subscribers) subscriber(fresh);
  }
}

/** Moves the start of the next poll forward and drops clicks before it. */
function advance(state: LinkState, rows: readonly LiveRow[], now: number): void {
  const newest = Number(rows.at(-1)?.ms ?? 0);
  state.latest = Math.max(state.latest, Math.min(newest, now));
  if (rows.length < ROWS_MAX) state.since = Math.max(state.since, state.latest - OVERLAP_MS);
  else {
    // The poll was full: the next one starts at the newest click, without an overlap.
    state.since = Math.max(state.since + 1, newest);
    if (state.since < now - LAG_MAX_MS) state.since = now - OVERLAP_MS;
  }
  for (const [position, ms] of state.delivered) {
    if (ms < state.since) state.delivered.delete(position);
  }
}

/**
 * Polls ClickHouse for new clicks of links that have live streams: one query per link and poll,
 * shared by all subscribers of the link. A click may be stored after later ones, so every poll
 * reads the last seconds again and recognises known clicks by their journal positions.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { type LiveRow, type ReadLiveRows, ROWS_MAX } from "./live-rows.ts";

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

type ClickPollerDeps = {
  readRows: ReadLiveRows;
  log: Log;
  now?: () => number;
  sleep?: (ms: number) => Promise<void>;
};

export type ClickPoller = ReturnType<typeof createClickPoller>;

export function createClickPoller({
  readRows,
  log,
  now = Date.now,
  sleep = Bun.sleep,
}: ClickPollerDeps) {
  const links = new Map<Uuid, LinkState>();

  /** Time until the next poll of a link, given the current number of links. */
  const pollInterval = () => Math.max(POLL_MS, (links.size * 1_000) / POLLS_PER_SECOND_MAX);

  async function poll(linkId: Uuid, state: LinkState): Promise<void> {
    const rows = await readRows(linkId, state.since, "ASC");
    const fresh = rows.filter(({ position }) => !state.delivered.has(position));
    for (const { ms, position } of fresh) state.delivered.set(position, Number(ms));
    advance(state, rows, now());
    for (const subscriber of state.subscribers) subscriber(fresh);
  }

  async function run(linkId: Uuid, state: LinkState): Promise<void> {
    while (state.subscribers.size > 0) {
      try {
        await poll(linkId, state);
        state.failing = false;
      } catch (error) {
        // Logged once per outage. The next successful poll reads the clicks stored meanwhile.
        if (!state.failing) log.warn({ error }, "live_clicks_not_read");
        state.failing = true;
      }
      await sleep(pollInterval());
    }
    if (links.get(linkId) === state) links.delete(linkId);
  }

  function addLink(linkId: Uuid): LinkState {
    const state = {
      subscribers: new Set<Subscriber>(),
      since: now() - OVERLAP_MS,
      latest: 0,
      delivered: new Map<string, number>(),
      failing: false,
    };
    links.set(linkId, state);
    return state;
  }

  return {
    /** Calls `subscriber` once with each new click, until the returned function is called. */
    subscribe(linkId: Uuid, subscriber: Subscriber): () => void {
      const running = links.get(linkId);
      const state = running ?? addLink(linkId);
      state.subscribers.add(subscriber);
      if (running === undefined) void run(linkId, state);
      return () => void state.subscribers.delete(subscriber);
    },

    /**
     * Reads the latest clicks of a link since an instant (Unix milliseconds), oldest first, at most
     * 1,000.
     */
    readSince: async (linkId: Uuid, since: number): Promise<LiveRow[]> =>
      (await readRows(linkId, since, "DESC")).toReversed(),

    /** Number of links that are polled. */
    links: () => links.size,
  };
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

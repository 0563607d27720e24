/**
 * Whether the links of this host are up to date with the feed, and for how long that has been
 * unknown.
 */
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import { EMPTY_FEED, type FeedState } from "../../shared/links-store/schema.ts";
import type { HostFeed } from "./host-feed.ts";

/**
 * How long a redirector that has every link waits for the feed before it counts as ready without
 * it.
 */
const START_GRACE_MS = 10_000;

/**
 * After this long without a heartbeat, the number of missing messages is unknown: several
 * heartbeats are missing, of one every two seconds.
 */
export const SILENT_SECONDS = 8;

/** The same threshold as the alert ShorthopFeedStale: many heartbeats of the feed are missing. */
const AGE_WARNING_SECONDS = 30;

/**
 * How long a store that lacks links may get no further than it already was. A fill that begins
 * again and again gets nowhere either.
 */
const STALLED_SECONDS = 30;

const POLL_MS = 10;

/** How far the fill of a stream has come, and since when. */
type Progress = Pick<FeedState, "stream" | "sequence" | "complete"> & { at: number };

export type FeedHealth = ReturnType<typeof createFeedHealth>;

export function createFeedHealth(now = () => performance.now()) {
  const startedAt = now();
  let feed: HostFeed = EMPTY_FEED;
  /** The last heartbeat, by its sender's clock: only a change of it is meaningful. */
  let heartbeat: number | undefined;
  let confirmedAt = startedAt;
  /** Whether the store has been up to date with the feed since the start. */
  let wasCurrent = false;
  let wasReady = false;
  const progress = new Map<string, Progress>();

  function recordProgress(name: string, { stream, sequence, complete }: FeedState): void {
    const before = progress.get(name);
    const isSameFill = before?.stream === stream && !before.complete && !complete;
    if (isSameFill && sequence <= before.sequence) return;
    progress.set(name, { stream, sequence, complete, at: now() });
  }

  /** Why the fill of a stream does not come to an end; undefined if it does, or there is none. */
  function describeStall(): string | undefined {
    for (const [name, { complete, at }] of progress) {
      const seconds = Math.round((now() - at) / 1_000);
      if (!complete && seconds >= STALLED_SECONDS)
        return `the store lacks links of ${name}, and filling it has come no further for ${seconds} s`;
    }
    return undefined;
  }

  const ageSeconds = (): number => (now() - confirmedAt) / 1_000;

  const state = (): string => {
    if (!feed.complete) return `the store lacks links${nameLacking(feed)}`;
    return wasCurrent ? "ok" : "not connected yet";
  };

  function readiness(): string {
    const waited = now() - startedAt >= START_GRACE_MS;
    wasReady ||= feed.complete && (wasCurrent || waited);
    return describeStall() ?? (wasReady ? "ok" : state());
  }

  return {
    /** Applies the store's state of the feed. */
    onFeed(changed: HostFeed): void {
      feed = changed;
      for (const [name, stream] of Object.entries(streamsOf(feed))) recordProgress(name, stream);
      const { confirmed_at } = feed;
      if (heartbeat !== undefined && heartbeat !== confirmed_at) confirmedAt = now();
      heartbeat = confirmed_at;
    },
    /** The store is up to date with the feed. */
    onCurrent: (): void => void (wasCurrent = true),
    /**
     * Seconds since the last heartbeat of the feed was written; since the start when there was
     * none.
     */
    ageSeconds,
    /** Messages of the feed that are not in the store; undefined while that is unknown. */
    lag: (): number | undefined =>
      wasCurrent && ageSeconds() < SILENT_SECONDS ? feed.pending : undefined,
    /** Whether the store has every link. */
    complete: (): boolean => feed.complete && feed.lacks === 0,
    /** 1 if the store has every link of a stream, else 0, by stream. */
    completeStreams: (): Record<string, number> =>
      Object.fromEntries(
        Object.entries(streamsOf(feed)).map(([name, { complete }]) => [name, Number(complete)]),
      ),
    /**
     * `ok` after the store had every link and was up to date with the feed, or could not be; else
     * the reason. A later outage of NATS does not matter: the store can still serve requests. A
     * store that lacks links and gets no more is not ready: new links would be missing for ever.
     */
    readiness,
    /**
     * Resolves when the links of the host are ready; before that after `withinMs`, or after the
     * store has received nothing for `idleMs`.
     */
    async waitUntilReady({ withinMs, idleMs }: { withinMs: number; idleMs: number }) {
      const deadline = now() + withinMs;
      let { sequence } = feed;
      let changedAt = now();
      while (readiness() !== "ok" && now() < Math.min(deadline, changedAt + idleMs)) {
        await Bun.sleep(POLL_MS);
        if (feed.sequence === sequence) continue;
        ({ sequence } = feed);
        changedAt = now();
      }
    },
    /** Why links may be outdated; undefined when they are current. */
    warning(): string | undefined {
      if (!feed.complete)
        return `the store of this host lacks links${nameLacking(feed)}; it is being filled, and the response for links that it does not have yet is 503`;
      if (feed.lacks > 0)
        return `the store of this host has ${feed.lacks} links fewer than PostgreSQL, also after reading the feed again`;
      const age = Math.round(ageSeconds());
      if (wasCurrent && age < AGE_WARNING_SECONDS) return undefined;
      const oldest = nameStreams(feed, ({ confirmed_at }) => confirmed_at === feed.confirmed_at);
      return `${state()}; last confirmed ${age} s ago${oldest && `, by the heartbeat${oldest}`}`;
    },
  };
}

/** The states of the streams by name, whether or not the feed is divided. */
const streamsOf = (feed: HostFeed): Readonly<Record<string, FeedState>> =>
  feed.streams ?? { [UNDIVIDED.name]: feed };

/**
 * Names the streams of a divided feed for which a condition holds; an empty text when there is
 * only one stream.
 */
function nameStreams({ streams = {} }: HostFeed, isSo: (stream: FeedState) => boolean): string {
  const named = Object.entries(streams).filter(([, stream]) => isSo(stream));
  return named.length === 0 ? "" : ` of ${named.map(([name]) => name).join(", ")}`;
}

const nameLacking = (feed: HostFeed): string => nameStreams(feed, ({ complete }) => !complete);

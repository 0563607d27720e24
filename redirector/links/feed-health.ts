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
type Progress = { stream: FeedState["stream"]; sequence: number; complete: boolean; at: number };

/** How far the fills of streams come. */
class FillProgress {
  readonly #now: () => number;
  readonly #streams = new Map<string, Progress>();

  constructor(now: () => number) {
    this.#now = now;
  }

  record(name: string, { stream, sequence, complete }: FeedState): void {
    const before = this.#streams.get(name);
    const isSameFill = before?.stream === stream && !before.complete && !complete;
    if (isSameFill && sequence <= before.sequence) return;
    this.#streams.set(name, { stream, sequence, complete, at: this.#now() });
  }

  /** Why the fill of a stream does not come to an end; undefined if it does, or there is none. */
  describeStall(): string | undefined {
    for (const [name, { complete, at }] of this.#streams) {
      const seconds = Math.round((this.#now() - at) / 1_000);
      if (!complete && seconds >= STALLED_SECONDS)
        return `the store lacks links of ${name}, and filling it has come no further for ${seconds} s`;
    }
    return undefined;
  }
}

export class FeedHealth {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #fills: FillProgress;
  #feed: HostFeed = EMPTY_FEED;
  /** The last heartbeat, by its sender's clock: only a change of it is meaningful. */
  #heartbeat: number | undefined;
  #confirmedAt: number;
  /** Whether the store has been up to date with the feed since the start. */
  #wasCurrent = false;
  #wasReady = false;

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
    this.#confirmedAt = this.#startedAt;
    this.#fills = new FillProgress(now);
  }

  /** Applies the store's state of the feed. */
  onFeed(changed: HostFeed): void {
    this.#feed = changed;
    for (const [name, stream] of Object.entries(streamsOf(changed)))
      this.#fills.record(name, stream);
    const { confirmed_at } = changed;
    if (this.#heartbeat !== undefined && this.#heartbeat !== confirmed_at)
      this.#confirmedAt = this.#now();
    this.#heartbeat = confirmed_at;
  }

  /** The store is up to date with the feed. */
  onCurrent(): void {
    this.#wasCurrent = true;
  }

  /**
   * Seconds since the last heartbeat of the feed was written; since the start when there was none.
   */
  ageSeconds(): number {
    return (this.#now() - this.#confirmedAt) / 1_000;
  }

  /** Messages of the feed that are not in the store; undefined while that is unknown. */
  lag(): number | undefined {
    return this.#wasCurrent && this.ageSeconds() < SILENT_SECONDS ? this.#feed.pending : undefined;
  }

  /** Whether the store has every link. */
  complete(): boolean {
    return this.#feed.complete && this.#feed.lacks === 0;
  }

  /** 1 if the store has every link of a stream, else 0, by stream. */
  completeStreams(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(streamsOf(this.#feed)).map(([name, { complete }]) => [name, Number(complete)]),
    );
  }

  /**
   * `ok` after the store had every link and was up to date with the feed, or could not be; else the
   * reason. A later outage of NATS does not matter: the store can still serve requests. A store
   * that lacks links and gets no more is not ready: new links would be missing for ever.
   */
  readiness(): string {
    const waited = this.#now() - this.#startedAt >= START_GRACE_MS;
    this.#wasReady ||= this.#feed.complete && (this.#wasCurrent || waited);
    return this.#fills.describeStall() ?? (this.#wasReady ? "ok" : this.#state());
  }

  /**
   * Resolves when the links of the host are ready; before that after `withinMs`, or after the store
   * has received nothing for `idleMs`.
   */
  async waitUntilReady({ withinMs, idleMs }: { withinMs: number; idleMs: number }) {
    const deadline = this.#now() + withinMs;
    let { sequence } = this.#feed;
    let changedAt = this.#now();
    while (this.readiness() !== "ok" && this.#now() < Math.min(deadline, changedAt + idleMs)) {
      await Bun.sleep(POLL_MS);
      if (this.#feed.sequence === sequence) continue;
      ({ sequence } = this.#feed);
      changedAt = this.#now();
    }
  }

  /** Why links may be outdated; undefined when they are current. */
  warning(): string | undefined {
    const feed = this.#feed;
    if (!feed.complete)
      return `the store of this host lacks links${nameLacking(feed)}; it is being filled, and the response for links that it does not have yet is 503`;
    if (feed.lacks > 0)
      return `the store of this host has ${feed.lacks} links fewer than PostgreSQL, also after reading the feed again`;
    const age = Math.round(this.ageSeconds());
    if (this.#wasCurrent && age < AGE_WARNING_SECONDS) return undefined;
    const oldest = nameStreams(feed, ({ confirmed_at }) => confirmed_at === feed.confirmed_at);
    return `${this.#state()}; last confirmed ${age} s ago${oldest && `, by the heartbeat${oldest}`}`;
  }

  #state(): string {
    if (!this.#feed.complete) return `the store lacks links${nameLacking(this.#feed)}`;
    return this.#wasCurrent ? "ok" : "not connected yet";
  }
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

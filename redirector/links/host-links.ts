/**
 * The links of this host, for requests: the cache in memory, and behind it the store, which a
 * thread of one of the host's redirectors fills from the feed. Changes in the store reach memory
 * within a few milliseconds. Requests need neither NATS nor that thread, except for an unknown
 * alias: the feed may have just received its link.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { EMPTY_FEED } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import type { DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import { createCatchUp } from "./catch-up.ts";
import { combineFeeds, type HostFeed } from "./host-feed.ts";
import { createMemoryUpdates } from "./memory-updates.ts";
import { createPresentStore } from "./present-store.ts";
import { createStoreReads } from "./store-reads.ts";

/**
 * Interval at which the store is checked for changes: the maximum delay of a change written by
 * another process.
 */
const POLL_MS = 20;

export type HostLinks = {
  /**
   * Finds a link or notice in the store, and caches a link. Returns null when a complete store
   * lacks it. Returns undefined when that is unknown, when reading could take long, or when the
   * link was deleted and may have returned: call `fetch` then.
   */
  find(domain: string, alias: string): LinkRecord | null | undefined;
  /**
   * As `find`, however long reading takes. Returns undefined when neither the store nor the feed
   * (if NATS is reachable) has such a link. Throws when that is unknown.
   */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
  /** Applies changes of the store now, without waiting for the next interval. */
  poll(): void;
  /**
   * Resolves when the store has everything that the feed had at the time of the call; waits for
   * NATS without a time limit.
   */
  waitUntilCurrent(): Promise<void>;
  /** Changes that could not be applied since the start. */
  failed(): number;
  /**
   * Reads of the store by requests since the start: in their event loop turn, or slowly, in a
   * thread.
   */
  reads(): Readonly<Record<"direct" | "slow", number>>;
  stop(): void;
};

type HostLinksDeps = {
  dir: string;
  nats: Pick<Nats, "connection" | "connected">;
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  cache: Pick<LinkCache, "put" | "has" | "forget" | "clear">;
  takedowns: Pick<Takedowns, "apply" | "isKnown">;
  domains: Pick<DomainSettingsCache, "apply" | "forget" | "clear">;
  /** Makes another thread read a link, so that its pages are in memory afterwards. */
  prefetch: (domain: string, alias: string) => Promise<void>;
  /** Called with the store's state of the feed, when it has changed. */
  onFeed: (feed: HostFeed) => void;
  /** Reports that the store is damaged. */
  onDamaged: (error: unknown) => void;
  log: Log;
  /** Maximum time for applying changes in one event loop turn, unless a test varies it. */
  turnMs?: number;
};

export function startHostLinks(deps: HostLinksDeps): HostLinks {
  const { takedowns, streams } = deps;
  let failed = 0;
  const updates = createMemoryUpdates({
    ...deps,
    onFailed(error) {
      failed++;
      store.logFailed("failed", error);
    },
  });
  const store = createPresentStore({ ...deps, onOpen: updates.begin, onClose: updates.end });

  function readFeed(): HostFeed {
    const feed = store.use((reader) => combineFeeds(streams, reader.feed)) ?? EMPTY_FEED;
    updates.setFeed(feed);
    return feed;
  }

  const { recordConnection, catchUp, waitUntilCurrent, stop } = createCatchUp({
    ...deps,
    readFeed,
  });
  const reads = createStoreReads({
    ...deps,
    store,
    isComplete: () => updates.feed().complete,
    // Before the takedowns are known, a link that is taken down might redirect.
    isReadable: () => takedowns.isKnown(),
    catchUp,
  });

  function poll(): void {
    recordConnection();
    store.reopen();
    if (store.use(updates.run) === false) setImmediate(poll);
  }

  poll();
  const timer = setInterval(poll, POLL_MS);
  return {
    find: reads.find,
    fetch: reads.fetch,
    poll,
    waitUntilCurrent,
    failed: () => failed,
    reads: reads.counts,
    stop() {
      stop();
      clearInterval(timer);
      store.close();
    },
  };
}

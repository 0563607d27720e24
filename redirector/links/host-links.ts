/**
 * The links of this host, for requests: those in memory, and behind them the store that a thread of one of the host's
 * redirectors fills from the feed. What changes in the store is taken over into memory within some milliseconds. Requests
 * need neither NATS nor that thread, except for an alias that no link has: the feed may just have got it.
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import { EMPTY_FEED } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import type { DomainAnswersCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import { createCatchUp } from "./catch-up.ts";
import { combineFeeds, type HostFeed } from "./host-feed.ts";
import { createMemoryUpdates } from "./memory-updates.ts";
import { createPresentStore } from "./present-store.ts";
import { createStoreReads } from "./store-reads.ts";

/** How often the store is asked whether it has changed: the most that a change by another process waits here. */
const POLL_MS = 20;

export type HostLinks = {
  /**
   * Finds a link or notice in the store, and keeps a link in memory. Null when a complete store lacks it; undefined when
   * that is not known, when reading could take long, or when the link was deleted and may have come back: then `fetch`
   * says.
   */
  find(domain: string, alias: string): LinkRecord | null | undefined;
  /**
   * As `find`, however long reading takes. Undefined when there is no such link: neither in the store nor in the feed, if
   * NATS is there. Throws when that is not known.
   */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
  /** Takes over what has changed in the store, without waiting until that is done again by itself. */
  poll(): void;
  /** Resolves once the store has all that the feed had when this was called; waits for NATS as long as it takes. */
  waitUntilCurrent(): Promise<void>;
  /** Changes that could not be taken over since the start. */
  failed(): number;
  /** Requests' reads of the store since the start: in their turn of the event loop, or slowly, in a thread. */
  reads(): Readonly<Record<"direct" | "slow", number>>;
  stop(): void;
};

type HostLinksDeps = {
  dir: string;
  nats: Pick<Nats, "connection" | "connected">;
  /** The streams of the feed. */
  streams?: readonly LinksStream[];
  cache: Pick<LinkCache, "put" | "has" | "forget" | "clear">;
  takedowns: Pick<Takedowns, "apply" | "isKnown">;
  domains: Pick<DomainAnswersCache, "apply" | "forget" | "clear">;
  /** Has another thread read a link, so that its pages are in memory afterwards. */
  prefetch: (domain: string, alias: string) => Promise<void>;
  /** Called with the state of the feed that the store has, when it has changed. */
  onFeed: (feed: HostFeed) => void;
  /** Says that the store is damaged. */
  onDamaged: (error: unknown) => void;
  log: Log;
  /** How long changes are taken over in one turn of the event loop, unless a test varies it. */
  turnMs?: number;
};

export function startHostLinks(deps: HostLinksDeps): HostLinks {
  const { takedowns, streams = [UNDIVIDED] } = deps;
  let failed = 0;
  const updates = createMemoryUpdates({
    ...deps,
    streams,
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

  const { noteConnection, catchUp, waitUntilCurrent, stop } = createCatchUp({
    ...deps,
    streams,
    readFeed,
  });
  const reads = createStoreReads({
    ...deps,
    store,
    isComplete: () => updates.feed().complete,
    // Before the takedowns are known, a link might be followed that is taken down.
    isReadable: () => takedowns.isKnown(),
    catchUp,
  });

  function poll(): void {
    noteConnection();
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

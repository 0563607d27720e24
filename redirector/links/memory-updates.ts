/** Applies changes of the store to memory: links, settings of domains, and takedowns. */
import { isNotice, TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { shortLinkOfKey } from "../../shared/contracts/short-link.ts";
import { EMPTY_FEED } from "../../shared/links-store/schema.ts";
import type { DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import { combineFeeds, type HostFeed } from "./host-feed.ts";
import { isDamage } from "./store-files.ts";
import type { StoreReader } from "./store-reader.ts";

/**
 * Maximum time for applying changes in one event loop turn, and how many are applied between two
 * checks of the time: a link with many rules takes up to a millisecond.
 */
const TURN_MS = 5;
const CHANGES_AT_ONCE = 10;

type UpdatesDeps = {
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  cache: Pick<LinkCache, "put" | "has" | "forget" | "clear">;
  takedowns: Pick<Takedowns, "apply" | "isKnown">;
  domains: Pick<DomainSettingsCache, "apply" | "forget" | "clear">;
  /** Called with the store's state of the feed, when it has changed. */
  onFeed: (feed: HostFeed) => void;
  /** Called with the error of a change that could not be applied. */
  onFailed: (error: unknown) => void;
  /** As {@link TURN_MS}. */
  turnMs?: number | undefined;
};

export function createMemoryUpdates(deps: UpdatesDeps) {
  const { streams, cache, takedowns, domains, onFeed, turnMs = TURN_MS } = deps;
  const apply = createApply(deps);
  let feed: HostFeed = EMPTY_FEED;
  let dataVersion = -1;
  /** The number of the last applied change. */
  let number = 0;
  /** Memory may be older than the store. */
  let isOutdated = false;

  /** Skips to the store's current state. Changes were missed, so memory may be outdated. */
  function skipChanges(reader: StoreReader): void {
    number = reader.lastChange();
    isOutdated = true;
  }

  /**
   * Clears everything that may be outdated, so that it is read again. An incomplete store is not
   * used for that.
   */
  function clearOutdated(reader: StoreReader): void {
    if (feed.complete && isOutdated) {
      cache.clear();
      domains.clear();
      isOutdated = false;
    }
    if (takedowns.isKnown()) return;
    const list = reader.find(DEFAULT_DOMAIN, TAKEDOWNS_ALIAS);
    if (list !== undefined || feed.complete) takedowns.apply(list);
  }

  /** Applies the next changes; returns whether those were all. */
  function applyNext(reader: StoreReader): boolean {
    const turnEnd = performance.now() + turnMs;
    for (;;) {
      const next = reader.changesSince(number, CHANGES_AT_ONCE);
      if (next === undefined) {
        skipChanges(reader);
        clearOutdated(reader);
        return true;
      }
      for (const key of next.keys) apply(reader, key);
      ({ number } = next);
      if (next.keys.length < CHANGES_AT_ONCE) return true;
      if (performance.now() >= turnEnd) return false;
    }
  }

  return {
    begin: skipChanges,
    /** The store was closed. */
    end(): void {
      dataVersion = -1;
      feed = EMPTY_FEED;
      onFeed(feed);
    },
    /** Applies changes of the store; returns whether those were all. */
    run(reader: StoreReader): boolean {
      const version = reader.dataVersion();
      if (version === dataVersion) return true;
      feed = combineFeeds(streams, reader.feed);
      onFeed(feed);
      clearOutdated(reader);
      if (!applyNext(reader)) return false;
      dataVersion = version;
      return true;
    },
    /** The state of the feed in the store when it was last read. */
    feed: (): HostFeed => feed,
    /** Sets the state of the feed, which was just read from the store. */
    setFeed: (state: HostFeed): void => void (feed = state),
  };
}

/**
 * Returns the function that applies the change of a link or notice. Entries that are not in memory
 * are read on request.
 */
function createApply({ cache, takedowns, domains, onFailed }: UpdatesDeps) {
  return (reader: StoreReader, key: string): void => {
    const { domain, alias } = shortLinkOfKey(key);
    const notice = isNotice({ alias });
    if (!notice && !cache.has(domain, alias)) return;
    try {
      const record = reader.find(domain, alias);
      if (alias === TAKEDOWNS_ALIAS) takedowns.apply(record);
      else if (notice && record === undefined) domains.forget(domain);
      else if (notice) domains.apply(domain, record);
      else if (record === undefined) cache.forget(domain, alias);
      else cache.put(record);
    } catch (error) {
      if (isDamage(error)) throw error;
      onFailed(error);
    }
  };
}

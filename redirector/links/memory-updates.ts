/** Takes over into memory what has changed in the store: links, settings of domains, and takedowns. */
import { isNotice, TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { linkOfKey } from "../../shared/links-store/record.ts";
import { EMPTY_FEED } from "../../shared/links-store/schema.ts";
import type { DomainAnswersCache } from "../cache/domain-settings.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { Takedowns } from "../cache/takedowns.ts";
import { combineFeeds, type HostFeed } from "./host-feed.ts";
import { isDamage } from "./store-files.ts";
import type { StoreReader } from "./store-reader.ts";

/**
 * How long changes are taken over in one turn of the event loop, and how many before that is looked at: one of a link with
 * many rules takes up to a millisecond.
 */
const TURN_MS = 5;
const CHANGES_AT_ONCE = 10;

type UpdatesDeps = {
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  cache: Pick<LinkCache, "put" | "has" | "forget" | "clear">;
  takedowns: Pick<Takedowns, "apply" | "isKnown">;
  domains: Pick<DomainAnswersCache, "apply" | "forget" | "clear">;
  /** Called with the state of the feed that the store has, when it has changed. */
  onFeed: (feed: HostFeed) => void;
  /** Called with the error of a change that could not be taken over. */
  onFailed: (error: unknown) => void;
  /** As {@link TURN_MS}. */
  turnMs?: number | undefined;
};

export function createMemoryUpdates(deps: UpdatesDeps) {
  const { streams, cache, takedowns, domains, onFeed, turnMs = TURN_MS } = deps;
  const apply = createApply(deps);
  let feed: HostFeed = EMPTY_FEED;
  let dataVersion = -1;
  /** The number of the last change that was taken over. */
  let number = 0;
  /** What is in memory may be older than the store. */
  let isOutdated = false;

  /** Begins with the store as it is; changes were missed, so what is in memory may be outdated. */
  function skipChanges(reader: StoreReader): void {
    number = reader.lastChange();
    isOutdated = true;
  }

  /** Forgets what may be outdated, so that it is read again. A store that lacks links is no reason to forget any. */
  function renew(reader: StoreReader): void {
    if (feed.complete && isOutdated) {
      cache.clear();
      domains.clear();
      isOutdated = false;
    }
    if (takedowns.isKnown()) return;
    const list = reader.find(DEFAULT_DOMAIN, TAKEDOWNS_ALIAS);
    if (list !== undefined || feed.complete) takedowns.apply(list);
  }

  /** Takes over the next changes; returns whether those were all. */
  function takeOver(reader: StoreReader): boolean {
    const turnEnd = performance.now() + turnMs;
    for (;;) {
      const next = reader.changesSince(number, CHANGES_AT_ONCE);
      if (next === undefined) {
        skipChanges(reader);
        renew(reader);
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
    /** Ends with the store, which was closed. */
    end(): void {
      dataVersion = -1;
      feed = EMPTY_FEED;
      onFeed(feed);
    },
    /** Takes over what has changed in the store; returns whether that was all. */
    run(reader: StoreReader): boolean {
      const version = reader.dataVersion();
      if (version === dataVersion) return true;
      feed = combineFeeds(streams, reader.feed);
      onFeed(feed);
      renew(reader);
      if (!takeOver(reader)) return false;
      dataVersion = version;
      return true;
    },
    /** The state of the feed that the store had when it was last read. */
    feed: (): HostFeed => feed,
    /** Sets the state of the feed, which was read from the store just now. */
    setFeed: (state: HostFeed): void => void (feed = state),
  };
}

/** Returns the function that takes over the change of a link or notice. What is not in memory is read when it is requested. */
function createApply({ cache, takedowns, domains, onFailed }: UpdatesDeps) {
  return (reader: StoreReader, key: string): void => {
    const { domain, alias } = linkOfKey(key);
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

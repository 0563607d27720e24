/**
 * The store's state of the whole feed: of its single stream, or of all streams of a divided feed.
 */
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { EMPTY_FEED, type FeedState } from "../../shared/links-store/schema.ts";

/**
 * Like the state of one stream; in a divided feed, `streams` has the state of each stream by name.
 */
export type HostFeed = FeedState & { streams?: Readonly<Record<string, FeedState>> };

/**
 * Combines the states of all streams: the feed is complete when each stream is, and as old as the
 * oldest. Its sequence only shows whether any stream has moved.
 */
export function combineFeeds(
  streams: readonly LinksStream[],
  read: (name: string) => FeedState,
): HostFeed {
  const [first, ...others] = streams;
  if (first === undefined) return EMPTY_FEED;
  if (others.length === 0) return read(first.name);
  const byName = Object.fromEntries(streams.map(({ name }) => [name, read(name)]));
  const feeds = Object.values(byName);
  const sum = (valueOf: (feed: FeedState) => number) =>
    feeds.reduce((total, feed) => total + valueOf(feed), 0);
  return {
    stream: feeds.some(({ stream }) => stream === null)
      ? null
      : feeds.map(({ stream }) => stream).join(),
    sequence: sum(({ sequence }) => sequence),
    complete: feeds.every(({ complete }) => complete),
    epoch: Math.min(...feeds.map(({ epoch }) => epoch)),
    announced: null,
    confirmed_at: Math.min(...feeds.map(({ confirmed_at }) => confirmed_at)),
    pending: sum(({ pending }) => pending),
    lacks: sum(({ lacks }) => lacks),
    counted: null,
    streams: byName,
  };
}

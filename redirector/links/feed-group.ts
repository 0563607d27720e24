/**
 * State shared by the followers of a host's streams: a link that the store lacks may be in any of
 * them.
 */
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { FeedState } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import { createCountCheck } from "./count-check.ts";
import { SILENT_SECONDS } from "./feed-health.ts";
import type { StoreWriter } from "./store-writer.ts";

export type FeedGroup = {
  /** A heartbeat reports the number of links in all streams. */
  onCounted(links: number): void;
  /**
   * Compares that number with the store, once the store is at the end of every stream. Returns how
   * many links it lacks; undefined while unknown. When it first lacks links after a fill, all
   * streams are read again.
   */
  compare(): number | undefined;
  /** How often all streams were scheduled to be read again. */
  rounds(): number;
};

type FeedGroupDeps = {
  store: Pick<StoreWriter, "feed" | "links">;
  streams: readonly LinksStream[];
  log: Log;
};

export function createFeedGroup({ store, streams, log }: FeedGroupDeps): FeedGroup {
  const checkCount = createCountCheck();
  /** From the last heartbeat that contains it, until the store is compared with it. */
  let counted: number | undefined;
  /** The epochs for which the streams were read again. */
  let rereadEpochs: string | undefined;
  let rounds = 0;
  return {
    onCounted: (links) => void (counted = links),
    compare() {
      const feeds = streams.map(({ name }) => store.feed(name));
      if (counted === undefined || !feeds.every(isCurrent)) return undefined;
      const lacks = checkCount(counted, store.links());
      counted = undefined;
      if (lacks === undefined || lacks === 0) return lacks;
      log.error({ links: store.links(), lacks }, "links_store_lacks_links");
      const epochs = feeds.map(({ epoch }) => epoch).join();
      // Links that the streams lack too would also be missing after another read.
      if (rereadEpochs !== epochs) rounds++;
      rereadEpochs = epochs;
      return lacks;
    },
    rounds: () => rounds,
  };
}

const isCurrent = ({ complete, pending, confirmed_at }: FeedState): boolean =>
  complete && pending === 0 && Date.now() - confirmed_at < SILENT_SECONDS * 1_000;

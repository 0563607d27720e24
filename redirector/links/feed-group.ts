/** What the followers of a host's streams share: a link that the store lacks may be in any of them. */
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { FeedState } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import { createCountCheck } from "./count-check.ts";
import type { StoreWriter } from "./store-writer.ts";

/** A stream without a heartbeat for so long may have links that the store does not have yet. */
const SILENT_MS = 8_000;

export type FeedGroup = {
  /** A heartbeat says how many links there are, in all streams. */
  onCounted(links: number): void;
  /**
   * Compares that with the store, once it is at the end of every stream; returns how many links it lacks, undefined while that is
   * not known. When it lacks links for the first time since the streams were filled, all are to be read again.
   */
  compare(): number | undefined;
  /** How often all streams were to be read again. */
  rounds(): number;
};

type FeedGroupDeps = {
  store: Pick<StoreWriter, "feed" | "links">;
  streams: readonly LinksStream[];
  log: Log;
};

export function createFeedGroup({ store, streams, log }: FeedGroupDeps): FeedGroup {
  const checkCount = createCountCheck();
  /** By the last heartbeat that says so, until the store is compared with it. */
  let counted: number | undefined;
  /** The epochs of which the streams were read again. */
  let readAgain: string | undefined;
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
      // What the streams do not have either, reading them once more does not bring.
      if (readAgain !== epochs) rounds++;
      readAgain = epochs;
      return lacks;
    },
    rounds: () => rounds,
  };
}

const isCurrent = ({ complete, pending, confirmed_at }: FeedState): boolean =>
  complete && pending === 0 && Date.now() - confirmed_at < SILENT_MS;

/**
 * Makes the store agree with an epoch of the feed, as heartbeats name it: says when the store is complete, removes links
 * that the feed does not have any more, and compares the number of links with PostgreSQL's.
 */
import { decodeHeartbeat, TAKEDOWNS_ALIAS } from "../../shared/contracts/feed-notices.ts";
import type { Log } from "../../shared/log.ts";
import { createCountCheck } from "./count-check.ts";
import type { FeedWriter } from "./feed-writer.ts";
import type { StoreWriter } from "./store-writer.ts";

/** Rows that one transaction looks at for links that the feed does not have any more. */
const SWEPT_ROWS = 5_000;

/** How long they are looked for before the next pull. */
const SWEEP_MS = 200;

type EpochDeps = {
  store: Pick<StoreWriter, "sweep" | "links">;
  writer: FeedWriter;
  log: Log;
};

export type FeedEpoch = ReturnType<typeof createFeedEpoch>;

export function createFeedEpoch({ store, writer, log }: EpochDeps) {
  /** The epoch that the last heartbeat named, if it also said that the stream has every link. */
  let epoch: number | undefined;
  /** The key behind which links older than `epoch` are looked for; undefined when none are. */
  let sweptTo: string | undefined;
  /** How many links there are by the last heartbeat that says so, until the store is compared with it. */
  let counted: number | undefined;
  const checkCount = createCountCheck();
  /** The epoch of which the stream was read again for links that the store lacked. */
  let readAgain: number | undefined;

  /** Forgets the epoch: nothing is known of the stream until the next heartbeat. */
  function forget(): void {
    epoch = undefined;
    sweptTo = undefined;
  }

  return {
    forget,
    /** Applies a heartbeat, once all before it was added to the writer. */
    applyHeartbeat(data: Uint8Array): void {
      const heartbeat = decodeHeartbeat(data);
      writer.advance({ confirmed_at: Date.now() });
      // An API of an earlier version does not say whether the stream has every link.
      if (heartbeat?.complete === false) {
        forget();
        writer.advance({ complete: false });
        return;
      }
      if (heartbeat !== undefined && heartbeat.epoch !== epoch) sweptTo = undefined;
      epoch = heartbeat?.epoch ?? 0;
      counted = heartbeat?.links ?? counted;
    },
    /** Writes what was delivered; `pending` more messages are in the stream. */
    flush(pending: number): void {
      // Links that were published while older ones were read are at the end of the stream.
      const hasAll = epoch !== undefined && pending === 0;
      writer.flush(pending, writer.next().complete || hasAll);
      if (hasAll && epoch !== undefined && epoch > writer.feed().epoch) sweptTo ??= "";
    },
    /** Removes links that the feed does not have any more, or some of them. */
    sweep(): void {
      const deadline = performance.now() + SWEEP_MS;
      while (sweptTo !== undefined && epoch !== undefined && performance.now() < deadline) {
        const { next: key } = store.sweep(epoch, sweptTo, SWEPT_ROWS, isKept);
        sweptTo = key;
        if (key === undefined) writer.save({ ...writer.feed(), epoch });
      }
    },
    /**
     * Compares the number of links with PostgreSQL's, once the store is at the end of the stream and has swept; returns
     * whether the stream is to be read again, as links are missing.
     */
    compareCounts(): boolean {
      const feed = writer.feed();
      if (counted === undefined || epoch === undefined || feed.epoch !== epoch) return false;
      const lacks = checkCount(counted, store.links());
      counted = undefined;
      if (lacks === undefined || (lacks === 0 && feed.lacks === 0)) return false;
      if (lacks > 0) log.error({ links: store.links(), lacks }, "links_store_lacks_links");
      // What the stream does not have either, reading it once more does not bring.
      const isFirst = lacks > 0 && readAgain !== epoch;
      if (isFirst) readAgain = epoch;
      writer.save({ ...feed, lacks, ...(isFirst ? { sequence: 0, complete: false } : {}) });
      return isFirst;
    },
  };
}

/** A feed that has no list of takedowns any more does not lift them: it was lost. */
const isKept = (key: string): boolean => key === `/${TAKEDOWNS_ALIAS}`;

/**
 * Makes the store agree with an epoch of a stream, as heartbeats name it: says when the store is complete, removes links
 * that the stream does not have any more, and compares the number of links with PostgreSQL's.
 */
import { decodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { FeedGroup } from "./feed-group.ts";
import { createSweep } from "./feed-sweep.ts";
import type { FeedWriter } from "./feed-writer.ts";
import type { StoreWriter } from "./store-writer.ts";

type EpochDeps = {
  stream: LinksStream;
  group: FeedGroup;
  store: Pick<StoreWriter, "sweep">;
  writer: FeedWriter;
};

export type FeedEpoch = ReturnType<typeof createFeedEpoch>;

export function createFeedEpoch({ stream, group, store, writer }: EpochDeps) {
  /** The epoch that the last heartbeat named, if it also said that the stream has every link. */
  let epoch: number | undefined;
  const sweep = createSweep(store, stream);
  /** How often all streams were to be read again when this one was. */
  let round = group.rounds();

  /** Forgets the epoch: nothing is known of the stream until the next heartbeat. */
  function forget(): void {
    epoch = undefined;
    sweep.cancel();
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
      if (heartbeat !== undefined && heartbeat.epoch !== epoch) sweep.cancel();
      epoch = heartbeat?.epoch ?? 0;
      if (heartbeat?.links !== undefined) group.onCounted(heartbeat.links);
    },
    /** Writes what was delivered; `pending` more messages are in the stream. */
    flush(pending: number): void {
      // Links that were published while older ones were read are at the end of the stream.
      const hasAll = epoch !== undefined && pending === 0;
      writer.flush(pending, writer.next().complete || hasAll);
      if (hasAll && epoch !== undefined && epoch > writer.feed().epoch) sweep.begin();
    },
    /** Removes links that the stream does not have any more, or some of them. */
    sweep(): void {
      if (epoch !== undefined && sweep.run(epoch)) writer.save({ ...writer.feed(), epoch });
    },
    /** Compares the number of links with PostgreSQL's, once the store is at the end of the stream and has swept. */
    compareCounts(): void {
      const feed = writer.feed();
      if (epoch === undefined || feed.epoch !== epoch) return;
      const lacks = group.compare();
      if (lacks !== undefined && lacks !== feed.lacks) writer.save({ ...feed, lacks });
    },
    /** Begins again at the start of the stream if all streams are to be read again; returns whether it does. */
    beginAgain(): boolean {
      if (round === group.rounds()) return false;
      round = group.rounds();
      writer.save({ ...writer.feed(), sequence: 0, complete: false });
      return true;
    },
  };
}

/**
 * Brings the store in line with the epoch of a stream, which heartbeats name. Marks the store as
 * complete, removes links that the stream no longer has, and compares the number of links with
 * PostgreSQL's.
 */
import { decodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import type { FeedGroup } from "./feed-group.ts";
import { toAnnounced } from "./feed-position.ts";
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
  /** The epoch in the last heartbeat, if that also reported the stream as complete. */
  let epoch: number | undefined;
  const sweep = createSweep(store, stream);
  /**
   * The number of rounds of reading all streams again when this stream was last read from its
   * start.
   */
  let round = group.rounds();

  /** Resets the epoch: nothing is known of the stream until the next heartbeat. */
  function forget(): void {
    epoch = undefined;
    sweep.cancel();
  }

  return {
    forget,
    /** Applies a heartbeat, after all earlier messages were added to the writer. */
    applyHeartbeat(data: Uint8Array): void {
      const heartbeat = decodeHeartbeat(data);
      writer.advance({
        confirmed_at: Date.now(),
        ...(heartbeat === undefined ? {} : { announced: toAnnounced(heartbeat) }),
      });
      // A heartbeat of an earlier API version does not report whether the stream is complete.
      if (heartbeat?.complete === false) {
        forget();
        writer.advance({ complete: false });
        return;
      }
      if (heartbeat !== undefined && heartbeat.epoch !== epoch) sweep.cancel();
      epoch = heartbeat?.epoch ?? 0;
      if (heartbeat?.links !== undefined) group.onCounted(heartbeat.links);
    },
    /** Writes the delivered changes; `pending` more messages are in the stream. */
    flush(pending: number): void {
      // Links that were published during the read are at the end of the stream.
      const hasAll = epoch !== undefined && pending === 0;
      writer.flush(pending, writer.next().complete || hasAll);
      if (hasAll && epoch !== undefined && epoch > writer.feed().epoch) sweep.begin();
    },
    /** Removes some or all of the links that the stream no longer has. */
    sweep(): void {
      if (epoch !== undefined && sweep.run(epoch)) writer.save({ ...writer.feed(), epoch });
    },
    /**
     * Compares the number of links with PostgreSQL's, after the store has reached the end of the
     * stream and has swept.
     */
    compareCounts(): void {
      const feed = writer.feed();
      if (epoch === undefined || feed.epoch !== epoch) return;
      const lacks = group.compare();
      if (lacks !== undefined && lacks !== feed.lacks) writer.save({ ...feed, lacks });
    },
    /**
     * Restarts at the beginning of the stream if all streams must be read again; returns whether it
     * does.
     */
    restart(): boolean {
      if (round === group.rounds()) return false;
      round = group.rounds();
      writer.save({ ...writer.feed(), sequence: 0, complete: false });
      return true;
    },
  };
}

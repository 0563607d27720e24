/**
 * Publishes sealed segments from the journal to JetStream, oldest first. It reads only what is on
 * disk, so the normal path is the recovery path. A segment's file is retained for a while after its
 * acknowledgement, and after every reconnect all retained segments are published again. JetStream
 * discards those it still has, by the segment's id.
 */
import { rm, truncate } from "node:fs/promises";

import { Events, type NatsConnection } from "nats";

import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedSegment } from "./files.ts";
import { createRetention } from "./retention.ts";
import { syncFiles, UnreadableSegmentError } from "./segment-files.ts";
import { createSegmentSender } from "./segment-sender.ts";
import { createUnreadableSegments } from "./unreadable-segments.ts";

/** Maximum segments being published concurrently. */
const IN_FLIGHT_MAX = 8;

/**
 * Interval at which unacknowledged segments are synced to disk. Together with the age of an open
 * segment this bounds how many clicks a power failure loses. Segments that are acknowledged sooner
 * cost no `fsync`.
 */
const SWEEP_MS = 200;

export type Publisher = {
  /**
   * Queues a sealed segment. It is retried until it is published, or quarantined when it cannot be
   * read.
   */
  add(segment: SealedSegment): void;
  /**
   * Stops publishing and deletes the files of acknowledged segments; the others stay in the
   * journal.
   */
  stop(): Promise<void>;
};

type PublisherDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  /** The maximum size of the journal. */
  journalBytesMax: number;
  /** Replicas of the stream, if this process creates it. */
  streamReplicas: number;
  log: Log;
  /** Called on a segment's first acknowledgement. */
  onDelivered: () => void;
  /**
   * Called when a segment is quarantined because its file cannot be read; `pending` unless it was
   * delivered before.
   */
  onQuarantined: (segment: { pending: boolean }) => void;
  /** Called when a segment's file has been truncated and can be reused or deleted. */
  onReleased: (segment: SealedSegment) => void;
};

export function startPublisher(deps: PublisherDeps): Publisher {
  const { nats, log, onDelivered, onQuarantined } = deps;
  /** Paths of segments to sync. */
  const unsynced = new Set<string>();
  const retention = createRetention(deps);
  let stopped = false;
  let sweeping = Promise.resolve();

  const send = createSegmentSender({ ...deps, isStopped: () => stopped });
  const unreadable = createUnreadableSegments({
    requeue: (segment) => enqueue([segment]),
    onQuarantined(segment) {
      unsynced.delete(segment.path);
      onQuarantined({ pending: !retention.forget(segment) });
    },
    log,
  });

  async function publish(segment: SealedSegment): Promise<void> {
    try {
      if (!(await send(segment))) return;
    } catch (error) {
      if (!(error instanceof UnreadableSegmentError)) throw error;
      unreadable.onFailure(segment, error);
      return;
    }
    unreadable.forget(segment);
    unsynced.delete(segment.path);
    if (retention.retain(segment)) onDelivered();
  }

  const enqueue = createQueue({ publish, isStopped: () => stopped, log });

  onReconnect(nats, () => enqueue(retention.startRepublishing())).catch((error: unknown) =>
    log.warn({ error }, "connection_not_watched"),
  );
  const timer = setInterval(() => {
    sweeping = sweeping
      .then(() => retention.sweep(performance.now(), truncate))
      .then(() => syncFiles(takeAll(unsynced), log))
      .catch((error: unknown) => log.error({ error }, "journal_sync_failed"));
  }, SWEEP_MS);

  return {
    add(segment) {
      retention.addWaiting(segment);
      unsynced.add(segment.path);
      enqueue([segment]);
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await sweeping;
      // A segment that was added twice may be acknowledged again meanwhile, when its file no longer
      // exists.
      await retention.sweep(Infinity, (path) => rm(path, { force: true }));
    },
  };
}

type QueueDeps = {
  publish: (segment: SealedSegment) => Promise<void>;
  isStopped: () => boolean;
  log: Log;
};

/** Returns a function that queues segments and publishes several concurrently. */
function createQueue({ publish, isStopped, log }: QueueDeps) {
  const queue: SealedSegment[] = [];
  let inFlight = 0;

  function pump(): void {
    while (inFlight < IN_FLIGHT_MAX && !isStopped()) {
      const segment = queue.shift();
      if (segment === undefined) return;
      inFlight++;
      publish(segment)
        // The segment is still in the journal; the next process publishes it.
        .catch((error: unknown) =>
          log.error({ error, segment: formatSegmentId(segment) }, "segment_not_published"),
        )
        .finally(() => {
          inFlight--;
          pump();
        });
    }
  }

  return (segments: readonly SealedSegment[]): void => {
    queue.push(...segments);
    pump();
  };
}

/**
 * Calls `republish` after each reconnect: the server may have lost messages that it acknowledged.
 */
async function onReconnect(nats: Promise<NatsConnection>, republish: () => void): Promise<void> {
  for await (const { type } of (await nats).status()) {
    if (type === Events.Reconnect) republish();
  }
}

/** Empties a set and returns its elements. */
function takeAll(paths: Set<string>): string[] {
  const all = [...paths];
  paths.clear();
  return all;
}

/**
 * Publishes sealed segments from the journal to JetStream, oldest first. It reads only what is on disk, so the
 * normal path is the recovery path. A segment's file is retained for a while after its acknowledgement: a NATS
 * server that loses power or is restored from a backup loses messages that it has acknowledged, so after every
 * reconnect all retained segments are published again. JetStream discards those it still has, by the segment's id.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { open as openFile, rm, truncate } from "node:fs/promises";
import { dirname } from "node:path";

import { Events, type JetStreamClient, type NatsConnection } from "nats";

import { createBackoff } from "../../shared/backoff.ts";
import { quarantineSegment } from "../../shared/clicks/quarantine.ts";
import {
  formatSegmentId,
  readSegmentId,
  SEGMENT_BYTES_MAX,
} from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT, ensureClicksStream } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedSegment } from "./files.ts";

/** Segments being published at a time. */
const IN_FLIGHT_MAX = 8;

/** Longer than the interval at which NATS syncs to disk by default (`sync_interval`, 2 minutes). */
const ACKED_RETENTION_MS = 150_000;

/** Beyond these bytes the oldest acknowledged segments are removed sooner. */
const ACKED_RETENTION_BYTES_MAX = 256 * 1024 ** 2;

/**
 * Acknowledged segments also give way to new clicks: together with those that wait they have this share of the journal at
 * most. The rest is for what is recorded before the next sweep.
 */
const RETENTION_SHARE = 0.5;

/**
 * How often segments that JetStream has not acknowledged are synced to disk. Together with the age of an open
 * segment this bounds what a power failure loses. Segments that are acknowledged sooner cost no `fsync`.
 */
const SWEEP_MS = 200;

const PUBLISH_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: 100, maxMs: 5_000 };

/**
 * Attempts to read a segment's file before it is quarantined, and the time between two attempts, in which other
 * segments are published: a disk error that passes within four seconds has no effect.
 */
const READ_ATTEMPTS_MAX = 5;
const READ_RETRY_MS = 1_000;

/** The value of `until` while a retained segment is being published again. */
const REPUBLISHING = -1;

export type Publisher = {
  /** Queues a sealed segment. It is retried until it is published, or quarantined when it cannot be read. */
  add(segment: SealedSegment): void;
  /** Stops publishing and deletes the files of acknowledged segments; the others stay in the journal. */
  stop(): Promise<void>;
};

type PublisherDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  /** The maximum size of the journal. */
  journalBytesMax: number;
  /** Copies of the stream, if this process creates it. */
  streamReplicas: number;
  log: Log;
  /** Called on a segment's first acknowledgement. */
  onDelivered: () => void;
  /** Called when a segment is quarantined because its file cannot be read; `pending` unless it was delivered before. */
  onQuarantined: (segment: { pending: boolean }) => void;
  /** Called when a segment's file is truncated, and can be reused or deleted. */
  onReleased: (segment: SealedSegment) => void;
};

export function startPublisher({
  nats,
  streamBytesMax,
  journalBytesMax,
  streamReplicas,
  log,
  onDelivered,
  onQuarantined,
  onReleased,
}: PublisherDeps): Publisher {
  const queue: SealedSegment[] = [];
  /** Acknowledged segments whose files still exist, by path; the oldest first. */
  const retained = new Map<string, { segment: SealedSegment; until: number }>();
  /** Paths of segments to sync. */
  const unsynced = new Set<string>();
  /** Failed attempts to read a file, by its path. */
  const readFailures = new Map<string, number>();
  /** Buffers that segments are read into, reused. */
  const bufferPool: Buffer[] = [];
  let ackedBytes = 0;
  /** Bytes of segments that are to be published, for the first time or again. */
  let waitingBytes = 0;
  let inFlight = 0;
  let stopped = false;
  let sweeping = Promise.resolve();
  let jetStream: Promise<JetStreamClient> | undefined;

  async function openJetStream(): Promise<JetStreamClient> {
    const connection = await nats;
    const manager = await connection.jetstreamManager();
    await ensureClicksStream(manager, streamBytesMax, streamReplicas);
    return connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS });
  }

  async function publish(segment: SealedSegment): Promise<void> {
    const backoff = createBackoff(BACKOFF);
    while (!stopped) {
      try {
        jetStream ??= openJetStream();
        const client = await jetStream;
        const buffer = bufferPool.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES_MAX);
        await client.publish(CLICKS_SUBJECT, readSegment(segment, buffer), {
          msgID: formatSegmentId(segment),
        });
        // Only after the acknowledgement: until then the client may still have to send the buffer.
        bufferPool.push(buffer);
        retain(segment);
        return;
      } catch (error) {
        if (error instanceof UnreadableSegmentError) {
          onUnreadable(segment, error);
          return;
        }
        // The stream is missing or full, or NATS is down: the segment is retried under the same id.
        jetStream = undefined;
        log.warn({ error, segment: formatSegmentId(segment) }, "segment_publish_failed");
        await backoff.wait();
      }
    }
  }

  /** Requeues the segment after a delay, so that others are published first; after the last attempt, quarantines it. */
  function onUnreadable(segment: SealedSegment, error: UnreadableSegmentError): void {
    const { path } = segment;
    const attempts = (readFailures.get(path) ?? 0) + 1;
    const id = formatSegmentId(segment);
    if (attempts < READ_ATTEMPTS_MAX) {
      log.warn({ error, segment: id, attempts }, "segment_unreadable");
      readFailures.set(path, attempts);
      setTimeout(() => {
        queue.push(segment);
        pump();
      }, READ_RETRY_MS).unref();
      return;
    }
    readFailures.delete(path);
    unsynced.delete(path);
    waitingBytes -= segment.bytes;
    const pending = !retained.delete(path);
    try {
      log.error({ error, segment: id, path: quarantineSegment(path) }, "segment_quarantined");
    } catch (cause) {
      // The file stays in the journal; the next process tries to read it.
      log.error({ error, segment: id, cause }, "segment_quarantine_failed");
    }
    onQuarantined({ pending });
  }

  function retain(segment: SealedSegment): void {
    readFailures.delete(segment.path);
    unsynced.delete(segment.path);
    if (!retained.has(segment.path)) onDelivered();
    retained.set(segment.path, { segment, until: performance.now() + ACKED_RETENTION_MS });
    ackedBytes += segment.bytes;
    waitingBytes -= segment.bytes;
  }

  /** Bytes of acknowledged segments that may be retained now. */
  const retainableBytes = (): number =>
    Math.min(ACKED_RETENTION_BYTES_MAX, journalBytesMax * RETENTION_SHARE - waitingBytes);

  /** Also syncs the directory, or the files' entries in it may be lost. */
  async function sync(): Promise<void> {
    const paths = [...unsynced];
    unsynced.clear();
    for (const path of [...paths, ...new Set(paths.map(dirname))]) {
      try {
        const file = await openFile(path, "r");
        try {
          await file.sync();
        } finally {
          await file.close();
        }
      } catch (error) {
        // One bad file must not leave the others unsynced.
        log.error({ error, path }, "journal_sync_failed");
      }
    }
  }

  /** Releases retained segments that have expired or exceed the bound of bytes, the oldest first. */
  async function sweep(now: number, removeFile: (path: string) => Promise<void>): Promise<void> {
    for (const { segment, until } of retained.values()) {
      if (until > now && (ackedBytes === 0 || ackedBytes <= retainableBytes())) return;
      if (until === REPUBLISHING) continue;
      retained.delete(segment.path);
      ackedBytes -= segment.bytes;
      await removeFile(segment.path);
      onReleased(segment);
    }
  }

  /** Queues all retained segments again: the server may have lost them since it acknowledged them. */
  function republish(): void {
    for (const [path, { segment, until }] of retained) {
      if (until === REPUBLISHING) continue;
      retained.set(path, { segment, until: REPUBLISHING });
      ackedBytes -= segment.bytes;
      waitingBytes += segment.bytes;
      queue.push(segment);
    }
    pump();
  }

  async function watchConnection(): Promise<void> {
    for await (const { type } of (await nats).status()) {
      if (type === Events.Reconnect) republish();
    }
  }

  function pump(): void {
    while (inFlight < IN_FLIGHT_MAX && !stopped) {
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

  void watchConnection().catch((error: unknown) => log.warn({ error }, "connection_not_watched"));
  const timer = setInterval(() => {
    sweeping = sweeping
      .then(() => sweep(performance.now(), truncate))
      .then(sync)
      .catch((error: unknown) => log.error({ error }, "journal_sync_failed"));
  }, SWEEP_MS);

  return {
    add(segment) {
      queue.push(segment);
      waitingBytes += segment.bytes;
      unsynced.add(segment.path);
      pump();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await sweeping;
      // A segment that was added twice may be acknowledged again meanwhile, and its file is gone.
      await sweep(Infinity, (path) => rm(path, { force: true }));
    },
  };
}

/** A segment's file cannot be read, or does not hold that segment. */
class UnreadableSegmentError extends Error {
  override name = "UnreadableSegmentError";
}

/**
 * Reads a segment into `buffer`. Blocks on the disk: this thread has nothing else to do. Does not check the
 * records: each has a checksum that the worker verifies. Throws {@link UnreadableSegmentError}.
 */
function readSegment(segment: SealedSegment, buffer: Buffer): Buffer {
  const { path, bytes } = segment;
  const expectedId = formatSegmentId(segment);
  let read: number;
  try {
    const file = openSync(path, "r");
    try {
      read = readSync(file, buffer, 0, bytes, 0);
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw new UnreadableSegmentError(`${path} cannot be read.`, { cause });
  }
  if (read < bytes) throw new UnreadableSegmentError(`${path} has only ${read} bytes of ${bytes}.`);
  const id = readSegmentId(buffer);
  if (id === undefined || formatSegmentId(id) !== expectedId)
    throw new UnreadableSegmentError(`${path} does not hold segment ${expectedId}.`);
  return buffer.subarray(0, bytes);
}

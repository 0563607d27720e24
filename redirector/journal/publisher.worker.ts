/**
 * The thread that publishes sealed segments from the journal to JetStream, oldest first, so that
 * publishing does not slow down redirects. It reads only what is on
 * disk, so the normal path is the recovery path. A segment's file is retained for a while after its
 * acknowledgement, and after every reconnect all retained segments are published again. JetStream
 * discards those it still has, by the segment's id.
 */
import { rm, truncate } from "node:fs/promises";

import { Events, type JetStreamClient } from "nats";

import { quarantineSegment } from "../../shared/clicks/quarantine.ts";
import { formatSegmentId, SEGMENT_BYTES_MAX } from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT, ensureClicksStream } from "../../shared/contracts/streams.ts";
import { type Log, processLog } from "../../shared/log.ts";
import { type Nats, NatsClient } from "../../shared/nats.ts";
import { Backoff } from "../../shared/repeat.ts";
import type { Config } from "../config.ts";
import { readSegment, type SealedSegment, syncFiles, UnreadableSegmentError } from "./files.ts";
import { Retention } from "./retention.ts";

/** Maximum segments being published concurrently. */
const IN_FLIGHT_MAX = 8;

/**
 * Interval at which unacknowledged segments are synced to disk. Together with the age of an open
 * segment this bounds how many clicks a power failure loses. Segments that are acknowledged sooner
 * cost no `fsync`.
 */
const SWEEP_MS = 200;

const PUBLISH_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: 100, maxMs: 5_000 };

/**
 * Maximum attempts to read a segment's file before it is quarantined, and the time between two
 * attempts, in which other segments are published. A disk error that passes within four seconds has
 * no effect.
 */
const READ_ATTEMPTS_MAX = 5;
const READ_RETRY_MS = 1_000;

/** Messages to the thread. */
export type PublisherCommand =
  | { kind: "start"; config: Config }
  | { kind: "publish"; segment: SealedSegment }
  | { kind: "stop" };

/** Messages from the thread. */
export type PublisherEvent =
  /** A segment was acknowledged for the first time. */
  | { kind: "delivered" }
  /** A segment is unreadable and quarantined; `pending` unless it was delivered before. */
  | { kind: "quarantined"; pending: boolean }
  /** A segment's file has been truncated or deleted. */
  | { kind: "released"; segment: SealedSegment }
  | { kind: "stopped" };

type Report = (event: PublisherEvent) => void;

export class Publisher {
  readonly #nats: Nats;
  readonly #config: Config;
  readonly #report: Report;
  readonly #log: Log;
  readonly #retention: Retention;
  readonly #timer: Timer;
  readonly #queue: SealedSegment[] = [];
  #inFlight = 0;
  readonly #unsynced = new Set<string>();
  /** Failed attempts to read a file, by its path. */
  readonly #readFailures = new Map<string, number>();
  /** Reused buffers for the contents of segments. */
  readonly #buffers: Buffer[] = [];
  #jetStream: Promise<JetStreamClient> | undefined;
  #sweeping = Promise.resolve();
  #isStopped = false;

  constructor(nats: Nats, config: Config, report: Report, log: Log) {
    this.#nats = nats;
    this.#config = config;
    this.#report = report;
    this.#log = log;
    this.#retention = new Retention(config.JOURNAL_BYTES_MAX);
    // The server may have lost messages that it acknowledged.
    nats.on(Events.Reconnect, () => this.#enqueue(this.#retention.startRepublishing()));
    this.#timer = setInterval(() => {
      this.#sweeping = this.#sweeping
        .then(() => this.#sweep())
        .catch((error: unknown) => log.error({ error }, "journal_sync_failed"));
    }, SWEEP_MS);
  }

  /** Queues a sealed segment, until it is published or, if it is unreadable, quarantined. */
  add(segment: SealedSegment): void {
    this.#retention.addWaiting(segment);
    this.#unsynced.add(segment.path);
    this.#enqueue([segment]);
  }

  /** Stops, and deletes the files of acknowledged segments; the others stay. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
    for (const segment of this.#retention.takeExpired(Infinity)) {
      // It may have been acknowledged twice, when its file no longer exists.
      await rm(segment.path, { force: true });
      this.#report({ kind: "released", segment });
    }
  }

  #enqueue(segments: readonly SealedSegment[]): void {
    this.#queue.push(...segments);
    this.#pump();
  }

  #pump(): void {
    while (this.#inFlight < IN_FLIGHT_MAX && !this.#isStopped) {
      const segment = this.#queue.shift();
      if (segment === undefined) return;
      this.#inFlight++;
      this.#publish(segment)
        // The segment is still in the journal; the next process publishes it.
        .catch((error: unknown) =>
          this.#log.error({ error, segment: formatSegmentId(segment) }, "segment_not_published"),
        )
        .finally(() => {
          this.#inFlight--;
          this.#pump();
        });
    }
  }

  async #publish(segment: SealedSegment): Promise<void> {
    try {
      if (!(await this.#send(segment))) return;
    } catch (error) {
      if (!(error instanceof UnreadableSegmentError)) throw error;
      this.#onUnreadable(segment, error);
      return;
    }
    this.#readFailures.delete(segment.path);
    this.#unsynced.delete(segment.path);
    if (this.#retention.retain(segment)) this.#report({ kind: "delivered" });
  }

  /**
   * Sends a segment repeatedly until it is acknowledged. Returns false if stopped before. Throws
   * {@link UnreadableSegmentError}.
   */
  async #send(segment: SealedSegment): Promise<boolean> {
    const backoff = new Backoff(BACKOFF.firstMs, BACKOFF.maxMs);
    while (!this.#isStopped) {
      try {
        this.#jetStream ??= this.#openJetStream();
        const client = await this.#jetStream;
        const buffer = this.#buffers.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES_MAX);
        await client.publish(CLICKS_SUBJECT, readSegment(segment, buffer), {
          msgID: formatSegmentId(segment),
        });
        // Only after the acknowledgement: until then the client may still have to send the buffer.
        this.#buffers.push(buffer);
        return true;
      } catch (error) {
        if (error instanceof UnreadableSegmentError) throw error;
        // The stream is missing or full, or NATS is down: the segment is retried under the same id.
        this.#jetStream = undefined;
        this.#log.warn({ error, segment: formatSegmentId(segment) }, "segment_publish_failed");
        await Bun.sleep(backoff.next());
      }
    }
    return false;
  }

  async #openJetStream(): Promise<JetStreamClient> {
    const connection = await this.#nats.connection;
    const manager = await connection.jetstreamManager();
    const { CLICKS_BYTES_MAX: bytesMax, NATS_REPLICAS: replicas } = this.#config;
    await ensureClicksStream(manager, bytesMax, replicas);
    return connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS });
  }

  /** Requeues a segment behind others after a delay; at last quarantines it. */
  #onUnreadable(segment: SealedSegment, error: unknown): void {
    const { path } = segment;
    const attempts = (this.#readFailures.get(path) ?? 0) + 1;
    const id = formatSegmentId(segment);
    if (attempts < READ_ATTEMPTS_MAX) {
      this.#log.warn({ error, segment: id, attempts }, "segment_unreadable");
      this.#readFailures.set(path, attempts);
      setTimeout(() => this.#enqueue([segment]), READ_RETRY_MS).unref();
      return;
    }
    this.#readFailures.delete(path);
    try {
      this.#log.error({ error, segment: id, path: quarantineSegment(path) }, "segment_quarantined");
    } catch (cause) {
      // The file stays in the journal; the next process tries to read it.
      this.#log.error({ error, segment: id, cause }, "segment_quarantine_failed");
    }
    this.#unsynced.delete(path);
    this.#report({ kind: "quarantined", pending: !this.#retention.forget(segment) });
  }

  /** Empties the files of segments that need not be retained, and syncs those not acknowledged. */
  async #sweep(): Promise<void> {
    for (const segment of this.#retention.takeExpired(performance.now())) {
      await truncate(segment.path);
      this.#report({ kind: "released", segment });
    }
    const unsynced = [...this.#unsynced];
    this.#unsynced.clear();
    await syncFiles(unsynced, this.#log);
  }
}

declare const self: Worker;

const report: Report = (event) => self.postMessage(event);

type Running = { publisher: Publisher; nats: NatsClient; log: Log };

function start(config: Config): Running {
  const log = processLog("redirector", config.LOG_LEVEL);
  const nats = new NatsClient(config.NATS_URL, "redirector clicks", log, config);
  return { publisher: new Publisher(nats, config, report, log), nats, log };
}

/** Never rejects; segments that are not published stay in the journal. */
async function stop(running: Running | undefined): Promise<void> {
  try {
    await running?.publisher.stop();
    await running?.nats.close();
  } catch (error) {
    running?.log.error({ error }, "publisher_not_stopped");
  }
}

let running: Running | undefined;

function take({ data }: MessageEvent<PublisherCommand>): void {
  if (data.kind === "start") running = start(data.config);
  else if (data.kind === "publish") running?.publisher.add(data.segment);
  else void stop(running).finally(() => report({ kind: "stopped" }));
}

// Tests use the publisher in the main thread.
if (!Bun.isMainThread) self.addEventListener("message", take);

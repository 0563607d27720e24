/**
 * Consumes segments from JetStream: each is stored and acknowledged, or dead-lettered with the reason. A segment is
 * acknowledged only after its rows are in ClickHouse. Until then JetStream redelivers it, which its deduplication
 * token makes harmless.
 */
import {
  AckPolicy,
  DeliverPolicy,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  nanos,
  type NatsConnection,
} from "nats";

import { createBackoff } from "../shared/backoff.ts";
import {
  type ClickSegment,
  decodeSegment,
  formatSegmentId,
} from "../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../shared/contracts/dead-letters.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  DEAD_LETTERS_SUBJECT,
  ensureClicksStream,
  ensureDeadLettersStream,
  MissingSubjectError,
} from "../shared/contracts/streams.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { isRejected } from "./clickhouse.ts";
import { type ClickRow, type Enrich, enrichInTurns } from "./enrich/enrich.ts";

/**
 * How soon the segments of a killed worker are redelivered to another one. A worker that needs longer reports
 * progress in time, which extends its wait. A segment that is delivered twice nevertheless is stored once.
 */
const ACK_WAIT_MS = 10_000;
const PROGRESS_INTERVAL_MS = 3_000;

/** Most segments delivered but not acknowledged, of all workers together, and in flight in this one. */
const ACK_PENDING_MAX = 256;
const IN_FLIGHT_MAX = 8;

const FETCH_EXPIRES_MS = 1_000;
const BACKOFF = { firstMs: 200, maxMs: 10_000 };

/** Pause before consuming again after an interruption, such as a deleted stream. */
const RESTART_DELAY_MS = 200;

/** Most characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

export type ConsumerDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  /** Copies of a stream that this process creates. */
  streamReplicas: number;
  log: Log;
  enrich: Enrich;
  store: (segment: ClickSegment, rows: readonly ClickRow[]) => Promise<void>;
  /** Called with the links of a stored segment: their figures have changed. */
  onStored: (linkIds: Iterable<Uuid>) => void;
  count: (outcome: "stored" | "dead" | "torn", segments: number, clicks: number) => void;
};

export type Consumer = {
  /** `ok` while segments are being fetched, else the reason why not. */
  state(): string;
  /** Segments waiting in JetStream, as of the last delivery. */
  pending(): number;
  /** Fetches no more segments, and resolves when those in flight are stored or returned to JetStream. */
  stop(): Promise<void>;
};

type Outcome = "acknowledged" | "nacked";

export function startConsumer(deps: ConsumerDeps): Consumer {
  const { nats, streamBytesMax, streamReplicas, log, enrich, store, onStored, count } = deps;
  const inFlight = new Set<Promise<Outcome>>();
  let state = "not connected yet";
  let pending = 0;
  let stopped = false;

  async function consume(connection: NatsConnection): Promise<void> {
    const manager = await connection.jetstreamManager();
    await ensureStreams(manager);
    await manager.consumers.add(CLICKS_STREAM, {
      durable_name: CLICKS_WORKER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      deliver_policy: DeliverPolicy.All,
      max_deliver: -1,
      max_ack_pending: ACK_PENDING_MAX,
    });
    const client = connection.jetstream();
    const consumer = await client.consumers.get(CLICKS_STREAM, CLICKS_WORKER);
    while (!stopped) {
      const free = IN_FLIGHT_MAX - inFlight.size;
      const messages = await consumer.fetch({ max_messages: free, expires: FETCH_EXPIRES_MS });
      state = "ok";
      for await (const message of messages) {
        pending = message.info.pending;
        const handling = handle(client, message).finally(() => inFlight.delete(handling));
        inFlight.add(handling);
      }
      if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight);
    }
  }

  async function ensureStreams(manager: JetStreamManager): Promise<void> {
    await ensureClicksStream(manager, streamBytesMax, streamReplicas).catch(reportMissingSubject);
    await ensureDeadLettersStream(manager, streamReplicas).catch(reportMissingSubject);
  }

  /** Until an operator adds the subject, the segments that are in the stream can be consumed. */
  function reportMissingSubject(error: unknown): void {
    if (!(error instanceof MissingSubjectError)) throw error;
    log.error({ error }, "stream_subject_missing");
  }

  async function handle(client: JetStreamClient, message: JsMsg): Promise<Outcome> {
    const progress = setInterval(() => report(() => message.working()), PROGRESS_INTERVAL_MS);
    const backoff = createBackoff(BACKOFF);
    try {
      while (!stopped) {
        try {
          await handleOnce(client, message);
          return "acknowledged";
        } catch (error) {
          log.warn({ error, sequence: message.seq }, "segment_insert_failed");
          await backoff.wait();
        }
      }
      report(() => message.nak());
      return "nacked";
    } finally {
      clearInterval(progress);
    }
  }

  /** Sends JetStream the progress of a message. If the connection is closed, JetStream redelivers it by itself. */
  function report(send: () => void): void {
    try {
      send();
    } catch (error) {
      log.warn({ error }, "segment_progress_failed");
    }
  }

  async function handleOnce(client: JetStreamClient, message: JsMsg): Promise<void> {
    const segment = decodeSegment(Buffer.from(message.data));
    if (segment === undefined)
      return await deadLetter(client, message, segment, "not a segment of clicks");
    try {
      if (segment.clicks.length > 0) await store(segment, await enrichInTurns(enrich, segment));
    } catch (error) {
      if (!isRejected(error)) throw error;
      return await deadLetter(client, message, segment, String(error));
    }
    onStored(new Set(segment.clicks.map((click) => click.linkId)));
    // Counted once, after the last attempt.
    if (!segment.whole) count("torn", 1, 0);
    count("stored", 1, segment.clicks.length);
    message.ack();
  }

  /** Moves a segment that can never be stored to the dead-letter queue, unchanged. */
  async function deadLetter(
    client: JetStreamClient,
    message: JsMsg,
    segment: ClickSegment | undefined,
    reason: string,
  ): Promise<void> {
    const id = segment === undefined ? `sequence:${message.seq}` : formatSegmentId(segment);
    const header = headers();
    header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
    await client.publish(DEAD_LETTERS_SUBJECT, message.data, { msgID: id, headers: header });
    log.error({ segment: id, reason }, "segment_dead_lettered");
    count("dead", 1, segment?.clicks.length ?? 0);
    message.term();
  }

  async function run(): Promise<void> {
    const connection = await nats;
    while (!stopped) {
      try {
        await consume(connection);
      } catch (error) {
        state = `interrupted: ${error instanceof Error ? error.message : "unknown reason"}`;
        if (!stopped) log.warn({ error }, "consumer_interrupted");
        await Bun.sleep(RESTART_DELAY_MS);
      }
    }
  }

  void run();
  return {
    state: () => state,
    pending: () => pending,
    async stop() {
      stopped = true;
      await Promise.all(inFlight);
    },
  };
}

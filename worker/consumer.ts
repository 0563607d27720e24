/**
 * Consumes segments from JetStream: stores them in batches and acknowledges them, or dead-letters them with the reason.
 * A segment is acknowledged only after its rows are in ClickHouse; until then JetStream redelivers it. Of all workers
 * one at a time does so, the owner (docs/batches.md); the others stand by.
 */
import type { JetStreamManager, JsMsg, NatsConnection } from "nats";

import { createBackoff } from "../shared/backoff.ts";
import {
  type ClickSegment,
  decodeSegment,
  readSegmentId,
} from "../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  ensureClicksStream,
  ensureDeadLettersStream,
  MissingSubjectError,
} from "../shared/contracts/streams.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { type Collector, createCollector, type HeldSegment } from "./batches/collector.ts";
import { waitUntilQuiet } from "./batches/election.ts";
import { LostOwnershipError, type OwnerDeps } from "./batches/deps.ts";
import { type Owner, type Refused, takeOver } from "./batches/owner.ts";
import { findFlaw, prepareSegment, prepareWanted } from "./batches/prepare.ts";
import { ensureConsumer, readConsumer, readSequences } from "./batches/stream.ts";
import { deadLetter } from "./dead-letters.ts";

/** How often the server is told that segments are being worked on; a third of the time after which it redelivers them. */
const PROGRESS_INTERVAL_MS = 3_000;

const FETCH_EXPIRES_MS = 1_000;
const BACKOFF = { firstMs: 200, maxMs: 10_000 };

/** Pause before consuming again after an interruption, such as a deleted stream. */
const RESTART_DELAY_MS = 500;

/** A batch that was stored: its size, and the age of its first click in seconds. */
export type StoredBatch = { segments: number; rows: number; ageSeconds: number };

/** Counts segments and clicks by what became of them. */
export type Count = (
  outcome: "stored" | "dead" | "torn" | "duplicate",
  segments: number,
  clicks: number,
) => void;

export type ConsumerDeps<Rows> = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  log: Log;
  /** Makes the rows of a segment. */
  rowsOf: (segment: ClickSegment) => Promise<Rows>;
  /** The batches' storage. */
  batches: Omit<OwnerDeps<Rows>, "retry" | "findInStream">;
  /** Called with the links of stored segments: their figures have changed. */
  onStored: (linkIds: Iterable<Uuid>) => void;
  onBatch: (batch: StoredBatch) => void;
  count: Count;
};

export type Consumer = {
  /** `ok` while segments are being fetched, here or by the owner, else the reason why not. */
  state(): string;
  /** Segments waiting in JetStream, as far as known. */
  pending(): number;
  /** The owner's epoch and sizes; undefined while this worker is not the owner. */
  owner(): ({ epoch: number } & ReturnType<Owner<unknown>["size"]>) | undefined;
  /** Batches of other owners that this worker settled. */
  settled(): number;
  /** Seconds since the first click that this worker holds, 0 if none; undefined while it is not the owner. */
  lagSeconds(): number | undefined;
  /** Fetches no more segments, and resolves when those in flight are stored or returned to JetStream. */
  stop(): Promise<void>;
};

export function startConsumer<Rows>(deps: ConsumerDeps<Rows>): Consumer {
  const { nats, streamBytesMax, log, rowsOf, batches, onStored, onBatch, count } = deps;
  const stopping = Promise.withResolvers<void>();
  let state = "not connected yet";
  let pending = 0;
  let stopped = false;
  let settled = 0;
  let current: { owner: Owner<Rows>; collector: Collector<Rows> } | undefined;

  const sleep = (ms: number): Promise<void> => Promise.race([Bun.sleep(ms), stopping.promise]);
  const isStopped = (): boolean => stopped;

  /** Repeats an operation until it succeeds, fails for good, or the worker stops. */
  async function retry<T>(
    operation: () => Promise<T>,
    isFinal: (error: unknown) => boolean = () => false,
  ): Promise<T> {
    const backoff = createBackoff(BACKOFF, sleep);
    for (;;) {
      try {
        return await operation();
      } catch (error) {
        if (isFinal(error)) throw error;
        log.warn({ error }, "batch_failed");
        await backoff.wait();
        if (stopped) throw error;
      }
    }
  }

  async function run(): Promise<void> {
    const connection = await Promise.race([nats, stopping.promise]);
    while (connection !== undefined && !stopped) {
      try {
        await ensureStreams(await connection.jetstreamManager());
        await standBy(connection);
        if (stopped) return;
        const onSettled = () => {
          settled++;
          batches.onSettled();
        };
        const findInStream = findIn(connection);
        await own(connection, await takeOver({ ...batches, retry, findInStream, onSettled }));
      } catch (error) {
        if (!(error instanceof LostOwnershipError)) interrupt(error);
        await sleep(RESTART_DELAY_MS);
      }
    }
  }

  async function ensureStreams(manager: JetStreamManager): Promise<void> {
    await ensureClicksStream(manager, streamBytesMax).catch(reportMissingSubject);
    await ensureDeadLettersStream(manager).catch(reportMissingSubject);
    await ensureConsumer(manager);
  }

  /** Until an operator adds the subject, the segments that are in the stream can be consumed. */
  function reportMissingSubject(error: unknown): void {
    if (!(error instanceof MissingSubjectError)) throw error;
    log.error({ error }, "stream_subject_missing");
  }

  function interrupt(error: unknown): void {
    state = `interrupted: ${error instanceof Error ? error.message : "unknown reason"}`;
    if (!stopped) log.warn({ error }, "consumer_interrupted");
  }

  const standBy = (connection: NatsConnection): Promise<void> =>
    waitUntilQuiet({
      readConsumer: async () => {
        const info = await readConsumer(connection);
        state = "ok";
        return info;
      },
      onPending: (segments) => void (pending = segments),
      sleep,
      isStopped,
    });

  const findIn =
    (connection: NatsConnection): OwnerDeps<Rows>["findInStream"] =>
    (segments, sequences) =>
      prepareWanted(readSequences(connection, sequences), segments, rowsOf);

  /** Fetches and stores segments until another worker takes over, or this one stops. */
  async function own(connection: NatsConnection, owner: Owner<Rows>): Promise<void> {
    log.info({ epoch: owner.epoch }, "clicks_owned");
    const collector = createCollector<Rows>();
    current = { owner, collector };
    if (stopped) collector.close();
    const progress = setInterval(() => {
      for (const { messages } of collector.held())
        for (const message of messages.values()) report(() => message.working());
    }, PROGRESS_INTERVAL_MS);
    const storing = storeBatches(connection, owner, collector).finally(() => collector.close());
    try {
      await fetchSegments(connection, owner, collector);
      await storing;
    } finally {
      current = undefined;
      clearInterval(progress);
      for (const { messages } of collector.held())
        for (const message of messages.values()) report(() => message.nak());
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

  async function fetchSegments(
    connection: NatsConnection,
    owner: Owner<Rows>,
    collector: Collector<Rows>,
  ): Promise<void> {
    while (!collector.isClosed()) {
      try {
        const consumer = await connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
        for (;;) {
          await collector.waitForRoom();
          if (collector.isClosed()) return;
          const max_messages = collector.room();
          const messages = await consumer.fetch({ max_messages, expires: FETCH_EXPIRES_MS });
          state = "ok";
          for await (const message of messages) {
            pending = message.info.pending;
            await receive(connection, message, owner, collector);
          }
        }
      } catch (error) {
        interrupt(error);
        await sleep(RESTART_DELAY_MS);
        await connection
          .jetstreamManager()
          .then(ensureStreams)
          .catch((reason: unknown) => interrupt(reason));
      }
    }
  }

  /** Takes one delivered segment in. */
  async function receive(
    connection: NatsConnection,
    message: JsMsg,
    owner: Owner<Rows>,
    collector: Collector<Rows>,
  ): Promise<void> {
    if (collector.isClosed()) return report(() => message.nak());
    const data = Buffer.from(message.data);
    const id = readSegmentId(data);
    if (id !== undefined && owner.has(id)) {
      count("duplicate", 1, 0);
      return report(() => message.ack());
    }
    const held = id === undefined ? undefined : collector.find(id);
    if (held !== undefined) return void held.messages.set(message.seq, message);
    const segment = decodeSegment(data);
    const flaw = segment === undefined ? "not a segment of clicks" : findFlaw(segment);
    if (segment === undefined || flaw !== undefined)
      return await refuse(connection, [message], segment, flaw ?? "");
    if (segment.clicks.length === 0) return finish([message], segment.whole, 0);
    const prepared = await prepareSegment(segment, message.seq, rowsOf);
    const messages = new Map([[message.seq, message]]);
    collector.add({ ...prepared, bytes: data.length, whole: segment.whole, messages });
  }

  /** Dead-letters a segment, and acknowledges further messages with it. */
  async function refuse(
    connection: NatsConnection,
    messages: Iterable<JsMsg>,
    segment: (ClickSegment | HeldSegment<Rows>) | undefined,
    reason: string,
  ): Promise<void> {
    for (const message of messages)
      await retry(() => deadLetter(connection, message, segment, { reason, log }));
    const clicks = segment?.clicks;
    count("dead", 1, typeof clicks === "object" ? clicks.length : (clicks ?? 0));
  }

  function finish(messages: Iterable<JsMsg>, whole: boolean, clicks: number): void {
    if (!whole) count("torn", 1, 0);
    count("stored", 1, clicks);
    for (const message of messages) report(() => message.ack());
  }

  async function storeBatches(
    connection: NatsConnection,
    owner: Owner<Rows>,
    collector: Collector<Rows>,
  ): Promise<void> {
    try {
      for (;;) {
        const batch = await collector.take();
        if (collector.isClosed()) break;
        await batches.repair();
        await finishBatch(connection, batch, await owner.store(batch));
        collector.drop(batch);
      }
      await owner.release();
    } catch (error) {
      if (error instanceof LostOwnershipError) log.info({ epoch: owner.epoch }, "clicks_lost_to_other_owner");
      else interrupt(error);
    }
  }

  async function finishBatch(
    connection: NatsConnection,
    batch: readonly HeldSegment<Rows>[],
    refused: readonly Refused<HeldSegment<Rows>>[],
  ): Promise<void> {
    const reasons = new Map(refused.map(({ segment, reason }) => [segment, reason]));
    const stored = batch.filter((segment) => !reasons.has(segment));
    for (const [segment, reason] of reasons)
      await refuse(connection, segment.messages.values(), segment, reason);
    for (const { links, messages, whole, clicks } of stored) {
      onStored(links);
      finish(messages.values(), whole, clicks);
    }
    if (stored.length === 0) return;
    onBatch({
      segments: stored.length,
      rows: stored.reduce((sum, { clicks }) => sum + clicks, 0),
      ageSeconds: (Date.now() - Math.min(...stored.map(({ firstClick }) => firstClick))) / 1_000,
    });
  }

  const running = run();
  return {
    state: () => state,
    pending: () => pending,
    owner: () =>
      current === undefined ? undefined : { epoch: current.owner.epoch, ...current.owner.size() },
    settled: () => settled,
    lagSeconds() {
      if (current === undefined) return undefined;
      const first = current.collector.firstClick();
      return first === undefined ? 0 : Math.max(0, (Date.now() - first) / 1_000);
    },
    async stop() {
      stopped = true;
      stopping.resolve();
      current?.collector.close();
      await running;
    },
  };
}

/**
 * The owner's loop: fetches segments for the insert loop, until another worker takes over or this
 * one stops.
 */
import type { NatsConnection } from "nats";

import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  ensureClicksStream,
  ensureDeadLettersStream,
  MissingSubjectError,
  PULL_SEGMENTS,
} from "../../shared/contracts/streams.ts";
import { type Collector, createCollector } from "../batches/collector.ts";
import type { Owner } from "../batches/owner.ts";
import { resetConsumerIfMoved } from "../batches/position.ts";
import { ensureConsumer } from "../batches/stream.ts";
import { trimStream } from "../batches/trim.ts";
import { createAcknowledger } from "./acknowledger.ts";
import { type ConsumerContext, RESTART_DELAY_MS } from "./context.ts";
import { runInsertLoop } from "./insert-loop.ts";
import { createMessageHandler, type MessageHandler } from "./message-handler.ts";

/**
 * Time between two progress reports to JetStream; a third of the time after which it redelivers a
 * segment.
 */
const PROGRESS_INTERVAL_MS = 3_000;

/**
 * Time between two checks of the stream's size: by far less than a quarter of it arrives meanwhile.
 */
const TRIM_INTERVAL_MS = 5_000;

const FETCH_EXPIRES_MS = 1_000;

/** Creates the streams and the durable consumer that are missing. */
export async function ensureStreams(
  { streamBytesMax, streamReplicas, log }: ConsumerContext,
  connection: NatsConnection,
): Promise<void> {
  /** Until an operator adds the subject, the segments that are in the stream can be consumed. */
  function reportMissingSubject(error: unknown): void {
    if (!(error instanceof MissingSubjectError)) throw error;
    log.error({ error }, "stream_subject_missing");
  }
  const manager = await connection.jetstreamManager();
  await ensureClicksStream(manager, streamBytesMax, streamReplicas).catch(reportMissingSubject);
  await ensureDeadLettersStream(manager, streamReplicas).catch(reportMissingSubject);
  await ensureConsumer(manager);
}

/** Fetches and stores segments until another worker takes over, or this one stops. */
export async function runOwner(
  context: ConsumerContext,
  connection: NatsConnection,
  owner: Owner,
): Promise<void> {
  const { log, status, interrupt } = context;
  log.info({ epoch: owner.epoch }, "clicks_taken_over");
  const collector = createCollector();
  const acknowledger = createAcknowledger({ ...context, connection });
  status.current = { owner, collector };
  if (context.isStopped()) collector.close();
  const forAll = (respond: typeof acknowledger.returnToStream): void => {
    for (const { messages } of collector.held()) respond([...messages.values()]);
  };
  const progress = setInterval(() => forAll(acknowledger.reportProgress), PROGRESS_INTERVAL_MS);
  const inserting = runInsertLoop({ ...context, owner, collector, acknowledger })
    .catch(interrupt)
    .finally(() => collector.close());
  const handleMessage = createMessageHandler({ ...context, owner, collector, acknowledger });
  while (!collector.isClosed()) {
    try {
      await fetchSegments(context, connection, { owner, collector, handleMessage });
    } catch (error) {
      interrupt(error);
      await context.sleep(RESTART_DELAY_MS);
      await ensureStreams(context, connection).catch(interrupt);
    }
  }
  await inserting;
  status.current = undefined;
  clearInterval(progress);
  forAll(acknowledger.returnToStream);
}

/** Creates the function that keeps room in the stream. Segments are stored also when it fails. */
function createTrim(
  { log, trimIntervalMs = TRIM_INTERVAL_MS }: ConsumerContext,
  connection: NatsConnection,
): () => Promise<void> {
  let due = 0;
  return async () => {
    if (performance.now() < due) return;
    try {
      const segments = await trimStream(connection);
      if (segments > 0) log.warn({ segments }, "stored_segments_deleted_early");
    } catch (error) {
      log.warn({ error }, "stream_not_trimmed");
    }
    due = performance.now() + trimIntervalMs;
  };
}

type FetchDeps = { owner: Owner; collector: Collector; handleMessage: MessageHandler };

/** Fetches segments while the next batch has room, until the collector is closed. */
async function fetchSegments(
  context: ConsumerContext,
  connection: NatsConnection,
  { owner, collector, handleMessage }: FetchDeps,
): Promise<void> {
  const { status } = context;
  const checkPosition = createPositionCheck(context, connection, owner);
  const trim = createTrim(context, connection);
  await checkPosition();
  const consumer = await connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
  for (;;) {
    await collector.waitForRoom();
    if (collector.isClosed()) return;
    await checkPosition();
    await trim();
    const messages = await consumer.fetch({
      max_messages: PULL_SEGMENTS,
      expires: FETCH_EXPIRES_MS,
    });
    status.state = "ok";
    for await (const message of messages) {
      status.pending = message.info.pending;
      await collector.waitForRoom();
      await checkPosition();
      await handleMessage(message);
    }
  }
}

/**
 * Creates the function that checks the consumer's position after each reconnect. It must run before
 * any segment is collected: the position in the next manifest would hide that the consumer's is
 * wrong.
 */
function createPositionCheck(
  { reconnects, log }: ConsumerContext,
  connection: NatsConnection,
  owner: Owner,
): () => Promise<void> {
  let checked = -1;
  return async () => {
    const current = reconnects();
    if (checked === current) return;
    if (await resetConsumerIfMoved(connection, owner.position()))
      log.warn({ position: owner.position()?.sequence }, "clicks_stream_set_back");
    checked = current;
  };
}

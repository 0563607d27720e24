/** What an owner does: it fetches segments and stores them, until another worker takes over or this one stops. */
import type { NatsConnection } from "nats";

import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  ensureClicksStream,
  ensureDeadLettersStream,
  MissingSubjectError,
} from "../shared/contracts/streams.ts";
import { type Collector, createCollector } from "./batches/collector.ts";
import type { Owner } from "./batches/owner.ts";
import { resetConsumerIfMoved } from "./batches/position.ts";
import { ensureConsumer } from "./batches/stream.ts";
import { trimStream } from "./batches/trim.ts";
import { type Consuming, RESTART_DELAY_MS } from "./consuming.ts";
import { createIntake } from "./intake.ts";
import { createOutcomes } from "./outcomes.ts";
import { storeBatches } from "./storing.ts";

/**
 * How often the server is told that segments are being worked on; a third of the time after which it redelivers them.
 */
const PROGRESS_INTERVAL_MS = 3_000;

/** How often the size of the stream is looked at: by far less than a quarter of it arrives meanwhile. */
const TRIM_INTERVAL_MS = 5_000;

/** Segments of one fetch: 24 MiB at most wait for room in a batch. */
const FETCH_MAX = 32;
const FETCH_EXPIRES_MS = 1_000;

/** Creates the streams and the durable consumer that are missing. */
export async function ensureStreams<Rows>(
  { streamBytesMax, streamReplicas, log }: Consuming<Rows>,
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
export async function ownClicks<Rows>(
  consuming: Consuming<Rows>,
  connection: NatsConnection,
  owner: Owner<Rows>,
): Promise<void> {
  const { log, status, batches, retry, interrupt } = consuming;
  log.info({ epoch: owner.epoch }, "clicks_taken_over");
  const collector = createCollector<Rows>();
  const outcomes = createOutcomes({ ...consuming, connection });
  status.current = { owner, collector };
  if (consuming.isStopped()) collector.close();
  const forAll = (respond: typeof outcomes.returned): void => {
    for (const { messages } of collector.held()) respond([...messages.values()]);
  };
  const progress = setInterval(() => forAll(outcomes.working), PROGRESS_INTERVAL_MS);
  const { repair } = batches;
  const storing = storeBatches({ ...consuming, retry, repair, owner, collector, outcomes })
    .catch(interrupt)
    .finally(() => collector.close());
  const receive = createIntake({ ...consuming, owner, collector, outcomes });
  while (!collector.isClosed()) {
    try {
      await fetchSegments(consuming, connection, { owner, collector, receive });
    } catch (error) {
      interrupt(error);
      await consuming.sleep(RESTART_DELAY_MS);
      await ensureStreams(consuming, connection).catch(interrupt);
    }
  }
  await storing;
  status.current = undefined;
  clearInterval(progress);
  forAll(outcomes.returned);
}

/** Creates the function that keeps room in the stream. A failure is no reason to store nothing. */
function createTrim<Rows>(
  { log, trimIntervalMs = TRIM_INTERVAL_MS }: Consuming<Rows>,
  connection: NatsConnection,
): () => Promise<void> {
  let due = 0;
  return async () => {
    if (performance.now() < due) return;
    due = performance.now() + trimIntervalMs;
    try {
      const segments = await trimStream(connection);
      if (segments > 0) log.warn({ segments }, "stored_segments_deleted_early");
    } catch (error) {
      log.warn({ error }, "stream_not_trimmed");
    }
  };
}

type Fetching<Rows> = {
  owner: Owner<Rows>;
  collector: Collector<Rows>;
  receive: ReturnType<typeof createIntake>;
};

/** Fetches segments while the next batch has room, until the collector is closed. */
async function fetchSegments<Rows>(
  consuming: Consuming<Rows>,
  connection: NatsConnection,
  { owner, collector, receive }: Fetching<Rows>,
): Promise<void> {
  const { status } = consuming;
  const checkPosition = createPositionCheck(consuming, connection, owner);
  const trim = createTrim(consuming, connection);
  await checkPosition();
  const consumer = await connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
  for (;;) {
    await collector.waitForRoom();
    if (collector.isClosed()) return;
    await checkPosition();
    await trim();
    const messages = await consumer.fetch({ max_messages: FETCH_MAX, expires: FETCH_EXPIRES_MS });
    status.state = "ok";
    for await (const message of messages) {
      status.pending = message.info.pending;
      await collector.waitForRoom();
      await checkPosition();
      await receive(message);
    }
  }
}

/**
 * Creates the function that checks the consumer's place after each reconnect. It is called before any segment is taken
 * in: the next manifest's position would hide that the place is wrong.
 */
function createPositionCheck<Rows>(
  { reconnects, log }: Consuming<Rows>,
  connection: NatsConnection,
  owner: Owner<Rows>,
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

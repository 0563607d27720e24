/**
 * Consumes segments from JetStream: stores them in batches and acknowledges them, or dead-letters them with the reason.
 * A segment is acknowledged only after its rows are in ClickHouse; until then JetStream redelivers it. Of all workers
 * one at a time does so, the owner (docs/batches.md); the others stand by.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import { createBackoff } from "../shared/backoff.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  ensureClicksStream,
  ensureDeadLettersStream,
  MissingSubjectError,
} from "../shared/contracts/streams.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { type Collector, createCollector } from "./batches/collector.ts";
import { LostOwnershipError, type OwnerDeps, type RowsOf } from "./batches/deps.ts";
import { waitUntilQuiet } from "./batches/election.ts";
import { type Owner, takeOver } from "./batches/owner.ts";
import { convertWanted } from "./batches/prepare.ts";
import { ensureConsumer, readConsumer, readSequences } from "./batches/stream.ts";
import { createIntake } from "./intake.ts";
import { type Count, createOutcomes } from "./outcomes.ts";
import { storeBatches } from "./storing.ts";

/**
 * How often the server is told that segments are being worked on; a third of the time after which it redelivers them.
 */
const PROGRESS_INTERVAL_MS = 3_000;

/** Segments of one fetch: 24 MiB at most wait for room in a batch. */
const FETCH_MAX = 32;
const FETCH_EXPIRES_MS = 1_000;
const BACKOFF = { firstMs: 200, maxMs: 10_000 };

/** Pause before consuming again after an interruption, such as a deleted stream. */
const RESTART_DELAY_MS = 500;

export type ConsumerDeps<Rows> = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  log: Log;
  rowsOf: RowsOf<Rows>;
  /** The log of batches, and their storage. */
  batches: Omit<OwnerDeps<Rows>, "retry" | "findInStream">;
  /** Called with the links of stored segments: their figures have changed. */
  onStored: (linkIds: Iterable<Uuid>) => void;
  /** Called with the age of a batch's first click in seconds, when it is stored. */
  onBatch: (ageSeconds: number) => void;
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
  const { nats, streamBytesMax, log, rowsOf, batches, count } = deps;
  const stopping = Promise.withResolvers<undefined>();
  let state = "not connected yet";
  let pending = 0;
  let stopped = false;
  let settled = 0;
  let lost = 0;
  let current: { owner: Owner<Rows>; collector: Collector<Rows> } | undefined;

  const sleep = (ms: number): Promise<void> => Promise.race([Bun.sleep(ms), stopping.promise]);

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
        const owner = await takeOver(ownerDeps(connection));
        lost = 0;
        await own(connection, owner);
      } catch (error) {
        if (error instanceof LostOwnershipError) lost++;
        interrupt(error);
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
    if (error instanceof LostOwnershipError) return log.info("clicks_taken_over_by_other_worker");
    state = `interrupted: ${error instanceof Error ? error.message : "unknown reason"}`;
    if (!stopped) log.warn({ error }, "consumer_interrupted");
  }

  const standBy = (connection: NatsConnection): Promise<void> =>
    waitUntilQuiet({
      async readConsumer() {
        const info = await readConsumer(connection);
        [state, pending] = ["ok", info.num_pending];
        return info;
      },
      sleep,
      isStopped: () => stopped,
      lost,
    });

  const ownerDeps = (connection: NatsConnection): OwnerDeps<Rows> => ({
    ...batches,
    retry,
    findInStream: (segments, sequences) =>
      convertWanted(readSequences(connection, sequences), segments, rowsOf),
    onSettled() {
      settled++;
      batches.onSettled();
    },
  });

  /** Fetches and stores segments until another worker takes over, or this one stops. */
  async function own(connection: NatsConnection, owner: Owner<Rows>): Promise<void> {
    log.info({ epoch: owner.epoch }, "clicks_taken_over");
    const collector = createCollector<Rows>();
    const outcomes = createOutcomes({ connection, log, count, retry });
    current = { owner, collector };
    if (stopped) collector.close();
    const forAll = (respond: typeof outcomes.returned): void => {
      for (const { messages } of collector.held()) respond([...messages.values()]);
    };
    const progress = setInterval(() => forAll(outcomes.working), PROGRESS_INTERVAL_MS);
    const storing = storeBatches({ ...deps, repair: batches.repair, owner, collector, outcomes })
      .catch(interrupt)
      .finally(() => collector.close());
    const receive = createIntake({ owner, collector, outcomes, rowsOf });
    while (!collector.isClosed()) {
      try {
        await fetchSegments(connection, collector, receive);
      } catch (error) {
        interrupt(error);
        await sleep(RESTART_DELAY_MS);
        await connection.jetstreamManager().then(ensureStreams).catch(interrupt);
      }
    }
    await storing;
    current = undefined;
    clearInterval(progress);
    forAll(outcomes.returned);
  }

  /** Fetches segments while the next batch has room, until the collector is closed. */
  async function fetchSegments(
    connection: NatsConnection,
    collector: Collector<Rows>,
    receive: ReturnType<typeof createIntake>,
  ): Promise<void> {
    const consumer = await connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
    for (;;) {
      await collector.waitForRoom();
      if (collector.isClosed()) return;
      const messages = await consumer.fetch({ max_messages: FETCH_MAX, expires: FETCH_EXPIRES_MS });
      state = "ok";
      for await (const message of messages) {
        pending = message.info.pending;
        await collector.waitForRoom();
        await receive(message);
      }
    }
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
      stopping.resolve(undefined);
      current?.collector.close();
      await running;
    },
  };
}

/**
 * Consumes segments from JetStream: stores them in batches and acknowledges them, or dead-letters
 * them with the reason. A segment is acknowledged only after its rows are in ClickHouse; until then
 * JetStream redelivers it. Only one worker at a time consumes, the owner (docs/batches.md); the
 * others stand by.
 *
 * The way of a click is in `#receive`, which makes rows of a delivered segment and adds it to the
 * next batch, and in `#store`, which stores that batch.
 */
import { Events, headers, type JsMsg, type NatsConnection } from "nats";

import {
  formatSegmentId,
  readSegmentId,
  type SegmentId,
  whyNoSegment,
} from "../../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../../shared/contracts/dead-letters.ts";
import { DEAD_LETTERS_SUBJECT, PULL_SEGMENTS } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { Backoff, repeat } from "../../shared/repeat.ts";
import { pause } from "../../shared/timeout.ts";
import type { BatchLog, LogPlace, Retry } from "../batches/batch-log.ts";
import type { ClickStore } from "../batches/clicks-table.ts";
import { Election, STAND_BY_MS } from "../batches/election.ts";
import { isLost, Owner, type OwnerSize } from "../batches/owner.ts";
import { isDiskFull } from "../clickhouse.ts";
import type { Context } from "../context.ts";
import type { Counters } from "../counters.ts";
import type { Enricher } from "../enrich/rows.ts";
import type { ClickRecorder } from "../events/recorder.ts";
import type { Metrics } from "../metrics.ts";
import type { Repairs } from "../repairs.ts";
import { ClicksStream } from "./clicks-stream.ts";
import { Collector, type HeldSegment, waitingSince } from "./collector.ts";

/** Pause after an interruption, such as a deleted stream. */
const RESTART_DELAY_MS = 500;

/** Delays before an operation on a store is tried again. */
const RETRY_MS_MIN = 200;
const RETRY_MS_MAX = 10_000;

/** Maximum characters of an error in a warning. */
const MESSAGE_LENGTH_MAX = 200;

/** Time between two reports of progress: a third of that after which JetStream redelivers. */
const PROGRESS_INTERVAL_MS = 3_000;

/**
 * Time between two checks of the stream's size: by far less than a quarter of it arrives meanwhile.
 */
const TRIM_INTERVAL_MS = 5_000;

const FETCH_EXPIRES_MS = 1_000;

/** The parts of a worker that clicks pass through, in this order. */
export type ClickParts = {
  enricher: Enricher;
  batchLog: BatchLog;
  clicks: ClickStore;
  repairs: Repairs;
  counters: Counters;
  recorder: ClickRecorder;
};

/** The parts of a worker that is the owner. */
type Tenure = {
  owner: Owner;
  stream: ClicksStream;
  collector: Collector;
  acknowledger: Acknowledger;
  /** How often the client had reconnected when the consumer's position was checked. */
  checkedReconnects: number;
  /** When the size of the stream is checked again, by `performance.now()`. */
  trimAt: number;
};

export class ClicksConsumer {
  readonly #context: Context;
  readonly #parts: ClickParts;
  readonly #trimIntervalMs: number;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #state = "not connected yet";
  #pending = 0;
  #storageProblem: string | undefined;
  #settledBefore = 0;
  /** How often the client has reconnected: NATS may have forgotten what it had acknowledged. */
  #reconnects = 0;
  #tenure: Tenure | undefined;

  constructor(context: Context, parts: ClickParts, trimIntervalMs = TRIM_INTERVAL_MS) {
    this.#context = context;
    this.#parts = parts;
    this.#trimIntervalMs = trimIntervalMs;
    context.nats.on(Events.Reconnect, () => void this.#reconnects++);
    this.#running = this.#run();
  }

  /** `ok` while segments are being fetched, here or by the owner, else the reason why not. */
  get state(): string {
    return this.#state;
  }

  /** The problem that keeps ClickHouse from storing clicks; undefined without one. */
  get warning(): string | undefined {
    return this.#storageProblem;
  }

  /** Segments waiting in JetStream, as far as known. */
  get pending(): number {
    return this.#pending;
  }

  /** The owner's epoch and sizes; undefined while this worker is not the owner. */
  get owner(): ({ epoch: number } & OwnerSize) | undefined {
    const owner = this.#tenure?.owner;
    return owner && { epoch: owner.epoch, ...owner.size };
  }

  /** Batches of other owners that this worker settled. */
  get settled(): number {
    return this.#settledBefore + (this.#tenure?.owner.settled ?? 0);
  }

  /** Age in seconds of the first click at hand, 0 if none; undefined unless this is the owner. */
  get lagSeconds(): number | undefined {
    if (this.#tenure === undefined) return undefined;
    const first = this.#tenure.collector.waitingSince;
    return first === undefined ? 0 : Math.max(0, (Date.now() - first) / 1_000);
  }

  /** Fetches no more; resolves when what is in flight is stored or returned to JetStream. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#tenure?.collector.close();
    await this.#running;
  }

  /** Stands by until no worker stores clicks, takes over, and stands by again when it has lost. */
  async #run(): Promise<void> {
    const connection = await this.#connect();
    if (connection === undefined) return;
    const stream = new ClicksStream(connection, this.#parts.enricher);
    /** How often in a row this worker lost the log. */
    let lost = 0;
    while (!this.#isStopped()) {
      try {
        await this.#ensure(stream);
        await this.#standBy(stream, lost);
        if (this.#isStopped()) return;
        const owner = await this.#takeOver(stream);
        lost = 0;
        await this.#own(stream, owner);
      } catch (error) {
        if (isLost(error)) lost++;
        this.#interrupt(error);
        await this.#pause(RESTART_DELAY_MS);
      }
    }
  }

  /** The connection to NATS; undefined when the worker stops before it is connected. */
  async #connect(): Promise<NatsConnection | undefined> {
    const stopped = Promise.withResolvers<undefined>();
    this.#stopping.signal.addEventListener("abort", () => stopped.resolve(undefined));
    return await Promise.race([this.#context.nats.connection, stopped.promise]);
  }

  async #ensure(stream: ClicksStream): Promise<void> {
    const { config } = this.#context;
    await stream.ensure(config.CLICKS_BYTES_MAX, config.NATS_REPLICAS);
  }

  /** Resolves when no worker has fetched segments for a while, or when this one stops. */
  async #standBy(stream: ClicksStream, lost: number): Promise<void> {
    const election = new Election(lost, this.#context.log);
    while (!this.#isStopped()) {
      const info = await stream.readConsumer();
      [this.#state, this.#pending] = ["ok", info.num_pending];
      if (election.isQuiet(info)) {
        const claim = await this.#parts.batchLog.readClaimSight();
        if (election.isAbandoned(claim)) return;
      }
      await this.#pause(STAND_BY_MS);
    }
  }

  async #takeOver(stream: ClicksStream): Promise<Owner> {
    const { batchLog, clicks, counters, recorder } = this.#parts;
    const owner = await Owner.takeOver(batchLog, clicks, stream, this.#retry);
    // Another worker may have stored clicks that it did not count.
    counters.recount();
    recorder.takeOver(placeOf(owner));
    this.#context.log.info({ epoch: owner.epoch }, "clicks_taken_over");
    return owner;
  }

  /** Fetches and stores segments until another worker takes over, or this one stops. */
  async #own(stream: ClicksStream, owner: Owner): Promise<void> {
    const { log, metrics } = this.#context;
    const collector = new Collector();
    const acknowledger = new Acknowledger(stream.connection, this.#retry, metrics, log);
    const tenure = { owner, stream, collector, acknowledger, checkedReconnects: -1, trimAt: 0 };
    this.#tenure = tenure;
    if (this.#isStopped()) collector.close();
    const progress = repeat(() => {
      for (const { messages } of collector.held)
        acknowledger.reportProgress([...messages.values()]);
      return PROGRESS_INTERVAL_MS;
    }, PROGRESS_INTERVAL_MS);
    const storing = this.#storeBatches(tenure)
      .catch((error: unknown) => this.#interrupt(error))
      .finally(() => collector.close());
    while (!collector.isClosed) {
      try {
        await this.#fetchSegments(tenure);
      } catch (error) {
        this.#interrupt(error);
        await this.#pause(RESTART_DELAY_MS);
        await this.#ensure(stream).catch((failure: unknown) => this.#interrupt(failure));
      }
    }
    await storing;
    this.#tenure = undefined;
    this.#settledBefore += owner.settled;
    await progress.stop();
    for (const { messages } of collector.held) acknowledger.returnToStream([...messages.values()]);
  }

  /** Fetches segments while the next batch has room, until the collector is closed. */
  async #fetchSegments(tenure: Tenure): Promise<void> {
    const { stream, collector } = tenure;
    tenure.checkedReconnects = -1;
    await this.#checkPosition(tenure);
    const consumer = await stream.consumer();
    for (;;) {
      await collector.waitForRoom();
      if (collector.isClosed) return;
      await this.#checkPosition(tenure);
      await this.#trim(tenure);
      const fetch = { max_messages: PULL_SEGMENTS, expires: FETCH_EXPIRES_MS };
      const messages = await consumer.fetch(fetch);
      this.#state = "ok";
      for await (const message of messages) {
        this.#pending = message.info.pending;
        await collector.waitForRoom();
        await this.#checkPosition(tenure);
        await this.#receive(tenure, message);
      }
    }
  }

  /**
   * Checks the consumer's position after each reconnect. It must run before any segment is
   * collected: the position in the next manifest would hide that the consumer's is wrong.
   */
  async #checkPosition(tenure: Tenure): Promise<void> {
    const reconnects = this.#reconnects;
    if (tenure.checkedReconnects === reconnects) return;
    const { position } = tenure.owner;
    if (await tenure.stream.resetConsumerIfMoved(position))
      this.#context.log.warn({ position: position?.sequence }, "clicks_stream_set_back");
    tenure.checkedReconnects = reconnects;
  }

  /** Keeps room in the stream, from time to time. Segments are stored also when that fails. */
  async #trim(tenure: Tenure): Promise<void> {
    if (performance.now() < tenure.trimAt) return;
    const { log } = this.#context;
    try {
      const segments = await tenure.stream.trim();
      if (segments > 0) log.warn({ segments }, "stored_segments_deleted_early");
    } catch (error) {
      log.warn({ error }, "stream_not_trimmed");
    }
    tenure.trimAt = performance.now() + this.#trimIntervalMs;
  }

  /** Adds a delivered segment to the next batch, or ends its delivery. */
  async #receive({ owner, collector, acknowledger }: Tenure, message: JsMsg): Promise<void> {
    if (collector.isClosed) return acknowledger.returnToStream([message]);
    const data = Buffer.from(message.data);
    const id = readSegmentId(data);
    if (id !== undefined && owner.has(id)) return acknowledger.acknowledgeDuplicate(message);
    const held = id === undefined ? undefined : collector.find(id);
    if (held !== undefined) {
      held.messages.set(message.seq, message);
      return;
    }
    const enriched = await this.#parts.enricher.enrich(data);
    if (enriched === undefined) {
      const reason = id === undefined ? whyNoSegment(data) : "a record is no valid click";
      return await acknowledger.deadLetter([message], { id, clicks: 0, reason });
    }
    if (enriched.clicks === 0) return acknowledger.acknowledge([message], enriched.whole, 0);
    collector.add({
      ...enriched,
      sequence: message.seq,
      publishedAt: message.info.timestampNanos,
      bytes: data.length,
      messages: new Map([[message.seq, message]]),
    });
  }

  /**
   * Stores one batch after the other until the collector is closed. Throws when another worker has
   * taken over, or this one stops.
   */
  async #storeBatches(tenure: Tenure): Promise<void> {
    const { owner, collector } = tenure;
    for (;;) {
      const batch = await collector.take();
      if (collector.isClosed) break;
      // Without traffic nothing else would show that another worker has taken over.
      if (batch.length === 0) await this.#retry(() => owner.confirm(), isLost);
      await this.#store(tenure, batch);
      collector.drop(batch);
    }
    await owner.release();
  }

  /** Stores a batch, ends the delivery of its segments, and passes its clicks on. */
  async #store({ owner, acknowledger }: Tenure, batch: readonly HeldSegment[]): Promise<void> {
    const { repairs, counters, recorder } = this.#parts;
    const settled = owner.settled;
    const rejected = await owner.renewWhile(async () => {
      // Between two inserts, when clicks and rollups are equal.
      await repairs.repair(() => owner.confirm());
      return await owner.store(batch);
    });
    if (owner.settled > settled) counters.recount();
    const reasons = new Map(rejected.map(({ segment, reason }) => [segment, reason]));
    const stored = batch.filter((segment) => !reasons.has(segment));
    for (const { links, messages, whole, clicks, imported } of stored) {
      // An import counts its links when it is done: those of visitors come first.
      if (!imported) counters.touch(links);
      acknowledger.acknowledge([...messages.values()], whole, clicks);
    }
    for (const [segment, reason] of reasons) {
      const { clicks, messages } = segment;
      await acknowledger.deadLetter([...messages.values()], { id: segment, clicks, reason });
    }
    if (stored.length === 0) return;
    recorder.add({ rows: stored.map(({ rows }) => rows), place: placeOf(owner) });
    const since = Math.min(...stored.map(waitingSince));
    this.#context.metrics.observeBatch((Date.now() - since) / 1_000);
  }

  readonly #retry: Retry = async (operation, isFinal = () => false) => {
    const backoff = new Backoff(RETRY_MS_MIN, RETRY_MS_MAX);
    for (;;) {
      try {
        const result = await operation();
        this.#storageProblem = undefined;
        return result;
      } catch (error) {
        if (isFinal(error)) throw error;
        this.#context.log.warn({ error }, "batch_failed");
        this.#storageProblem = describeProblem(error);
        await this.#pause(backoff.next());
        if (this.#isStopped()) throw error;
      }
    }
  };

  /** Notes why segments are not being stored. */
  #interrupt(error: unknown): void {
    const { log } = this.#context;
    if (isLost(error)) return log.info("clicks_taken_over_by_other_worker");
    this.#state = `interrupted: ${error instanceof Error ? error.message : "unknown reason"}`;
    if (!this.#isStopped()) log.warn({ error }, "consumer_interrupted");
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Waits; resolves early when the worker stops. */
  #pause(ms: number): Promise<void> {
    return pause(ms, this.#stopping.signal);
  }
}

const placeOf = ({ epoch, batch }: Owner): LogPlace => ({ epoch, batch });

/** The problem in words for an operator; nothing has to be restarted. */
function describeProblem(error: unknown): string {
  if (isDiskFull(error))
    return "the disk of ClickHouse is full: clicks wait in CLICKS, for 72 hours, and are stored when there is room";
  const message = error instanceof Error ? error.message : "unknown reason";
  return `ClickHouse does not store clicks, which wait in CLICKS: ${message.slice(0, MESSAGE_LENGTH_MAX)}`;
}

/** Maximum characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

type Messages = readonly JsMsg[];

/** `id` is undefined if the message is not a segment. */
type DeadSegment = { id: SegmentId | undefined; clicks: number; reason: string };

/** Ends deliveries: acknowledges segments, returns them, or moves them to the dead letters. */
class Acknowledger {
  readonly #connection: NatsConnection;
  readonly #retry: Retry;
  readonly #metrics: Metrics;
  readonly #log: Log;

  constructor(connection: NatsConnection, retry: Retry, metrics: Metrics, log: Log) {
    this.#connection = connection;
    this.#retry = retry;
    this.#metrics = metrics;
    this.#log = log;
  }

  /** Acknowledges the messages of a stored segment; `whole` is false if it was torn. */
  acknowledge(messages: Messages, whole: boolean, clicks: number): void {
    if (!whole) {
      this.#metrics.count("torn", 1, 0);
      const sequences = messages.map(({ seq }) => seq);
      this.#log.warn({ sequences, clicks }, "segment_not_whole");
    }
    this.#metrics.count("stored", 1, clicks);
    this.#respond(messages, "ack");
  }

  /** Acknowledges a message whose segment was stored before. */
  acknowledgeDuplicate(message: JsMsg): void {
    this.#metrics.count("duplicate", 1, 0);
    this.#respond([message], "ack");
  }

  /** Moves a segment that can never be stored to the dead-letter queue, unchanged. */
  async deadLetter(messages: Messages, { id, clicks, reason }: DeadSegment): Promise<void> {
    for (const { seq, data } of messages) {
      const msgID = id === undefined ? `sequence:${seq}` : formatSegmentId(id);
      const header = headers();
      header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
      const letter = { msgID, headers: header };
      await this.#retry(() =>
        this.#connection.jetstream().publish(DEAD_LETTERS_SUBJECT, data, letter),
      );
      this.#log.error({ segment: msgID, reason }, "segment_dead_lettered");
    }
    this.#metrics.count("dead_lettered", 1, clicks);
    this.#respond(messages, "term");
  }

  /** Returns messages to JetStream, which delivers them to another worker. */
  returnToStream(messages: Messages): void {
    this.#respond(messages, "nak");
  }

  /** Postpones the redelivery of messages that are still being processed. */
  reportProgress(messages: Messages): void {
    this.#respond(messages, "working");
  }

  /** If the connection is closed, JetStream redelivers the messages by itself. */
  #respond(messages: Messages, response: "ack" | "nak" | "term" | "working"): void {
    try {
      for (const message of messages) message[response]();
    } catch (error) {
      this.#log.warn({ error }, "segment_response_failed");
    }
  }
}

/**
 * The stream `CLICKS` and the durable consumer that workers share: creates them, reads segments by
 * sequence, checks the consumer's position, and keeps room for new segments.
 */
import {
  AckPolicy,
  type Consumer,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
  nanos,
  type NatsConnection,
  type StoredMsg,
} from "nats";

import { formatSegmentId, readSegmentId } from "../../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_TRIMMED_AT,
  CLICKS_WORKER,
  CONSUMER_EXISTS,
  ensureClicksStream,
  ensureDeadLettersStream,
  findMessage,
  jetStreamErrorCode,
  readMessages,
} from "../../shared/contracts/streams.ts";
import type { StreamPosition } from "../batches/batch-log.ts";
import type { BatchSegment } from "../batches/clicks-table.ts";
import type { SegmentSource } from "../batches/owner.ts";
import { parseRanges, type SegmentIndex } from "../batches/segment-index.ts";
import type { Enricher } from "../enrich/rows.ts";

/**
 * Time after which JetStream redelivers the segments of a killed worker. A worker that needs longer
 * reports progress before that, which restarts the time.
 */
const ACK_WAIT_MS = 10_000;

/**
 * Maximum segments delivered but not acknowledged: those of an owner's two batches (collector.ts),
 * and as many that earlier owners left.
 */
const ACK_PENDING_MAX = 10_000;

/** Share of its maximum size to which a stream is trimmed, if enough of its segments are stored. */
const TRIMMED_TO = 0.5;

/**
 * Servers whose consumers forget, with a purge, which messages were delivered and are not
 * acknowledged: if their worker ended then, nobody would get them
 * (https://github.com/nats-io/nats-server/pull/3892, in 2.9.15).
 */
const FORGETFUL = /^[01]\.|^2\.[0-8]\.|^2\.9\.(?:\d|1[0-4])(?!\d)/;

/** How long such a server is given until everything that was delivered is acknowledged. */
const ACKNOWLEDGED_MS = 5_000;
const ACKNOWLEDGED_POLL_MS = 100;

export class ClicksStream implements SegmentSource {
  readonly connection: NatsConnection;
  readonly #enricher: Enricher;

  constructor(connection: NatsConnection, enricher: Enricher) {
    this.connection = connection;
    this.#enricher = enricher;
  }

  /** Creates the streams and the durable consumer that are missing, streams with these bounds. */
  async ensure(bytesMax: number, replicas: number): Promise<void> {
    const manager = await this.connection.jetstreamManager();
    await ensureClicksStream(manager, bytesMax, replicas);
    await ensureDeadLettersStream(manager, replicas);
    await ensureConsumer(manager);
  }

  /** The durable consumer, from which the owner fetches segments. */
  consumer(): Promise<Consumer> {
    return this.connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
  }

  async readConsumer(): Promise<ConsumerInfo> {
    const { consumers } = await this.connection.jetstreamManager();
    return await consumers.info(CLICKS_STREAM, CLICKS_WORKER);
  }

  async find(segments: SegmentIndex, sequences: string): Promise<BatchSegment[]> {
    const found = new Map<string, BatchSegment>();
    for await (const message of this.#read(sequences)) {
      const bytes = Buffer.from(message.data);
      const id = readSegmentId(bytes);
      if (id === undefined || !segments.has(id)) continue;
      const key = formatSegmentId(id);
      if (found.has(key)) continue;
      const enriched = await this.#enricher.enrich(bytes);
      if (enriched !== undefined) found.set(key, { ...enriched, ...positionOf(message) });
    }
    return [...found.values()];
  }

  /**
   * Recreates the durable consumer if the stream is not the one of this position, so that the whole
   * stream is delivered: the index of segments knows which of them are stored. Returns whether it
   * did.
   *
   * JetStream stores a consumer's position apart from the stream, and one can survive without the
   * other: after a power loss the consumer may be newer than the stream, and a recreated stream may
   * get the old stream's consumer. New messages then get sequences that the consumer regards as
   * acknowledged, and would never be delivered. So the owner remembers its last message.
   */
  async resetConsumerIfMoved(position: StreamPosition | undefined): Promise<boolean> {
    if (position === undefined || (await this.#has(position))) return false;
    const manager = await this.connection.jetstreamManager();
    await manager.consumers.delete(CLICKS_STREAM, CLICKS_WORKER);
    await ensureConsumer(manager);
    return true;
  }

  /**
   * Deletes the oldest stored segments of a stream that is nearly full, and returns how many. The
   * stream keeps stored segments for days, in case ClickHouse loses them, and rejects new ones when
   * it is full. The consumer's position must belong to this stream.
   */
  async trim(): Promise<number> {
    const { streams } = await this.connection.jetstreamManager();
    const { config, state } = await streams.info(CLICKS_STREAM);
    const { max_bytes: max } = config;
    if (max <= 0 || state.bytes < CLICKS_TRIMMED_AT * max) return 0;
    const { ack_floor: stored } = await this.readConsumer();
    const surplus = Math.ceil(state.messages * (1 - (TRIMMED_TO * max) / state.bytes));
    const seq = Math.min(state.first_seq + surplus, stored.stream_seq + 1);
    if (seq <= state.first_seq) return 0;
    // While ClickHouse is away nothing is acknowledged: such a stream gets full, and journals keep
    // what it refuses.
    const isForgetful = FORGETFUL.test(this.connection.info?.version ?? "");
    if (isForgetful && !(await this.#waitUntilAcknowledged())) return 0;
    // Purges the messages before the sequence.
    const { purged } = await streams.purge(CLICKS_STREAM, { seq });
    return purged;
  }

  /** Whether all is acknowledged within {@link ACKNOWLEDGED_MS}, and no fetch waits. */
  async #waitUntilAcknowledged(): Promise<boolean> {
    const giveUpAt = performance.now() + ACKNOWLEDGED_MS;
    do {
      const { num_ack_pending, num_waiting } = await this.readConsumer();
      if (num_ack_pending === 0 && num_waiting === 0) return true;
      await Bun.sleep(ACKNOWLEDGED_POLL_MS);
    } while (performance.now() < giveUpAt);
    return false;
  }

  /** Whether the message is in the stream, or was before it expired. */
  async #has({ sequence, publishedAt }: StreamPosition): Promise<boolean> {
    const manager = await this.connection.jetstreamManager();
    const { state } = await manager.streams.info(CLICKS_STREAM);
    // The message has expired or was purged. An empty, recreated stream has 0 here.
    if (sequence < state.first_seq) return true;
    const message = await findMessage(manager, CLICKS_STREAM, { seq: sequence });
    return message !== undefined && positionOf(message).publishedAt === publishedAt;
  }

  /** Reads the messages with these sequences (ranges as text) that the stream still has. */
  async *#read(sequences: string): AsyncGenerator<StoredMsg> {
    const manager = await this.connection.jetstreamManager();
    for (const [first, last] of parseRanges(sequences))
      yield* readMessages(manager, CLICKS_STREAM, first - 1, last);
  }
}

/** The place of a message, as its delivery says it. */
const positionOf = ({ seq, timestamp }: StoredMsg): StreamPosition => ({
  sequence: seq,
  publishedAt: Number(Temporal.Instant.from(timestamp).epochNanoseconds),
});

/** Creates the durable consumer, or gives one that exists these settings. */
async function ensureConsumer(manager: JetStreamManager): Promise<void> {
  const config = {
    durable_name: CLICKS_WORKER,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    deliver_policy: DeliverPolicy.All,
    max_deliver: -1,
    max_ack_pending: ACK_PENDING_MAX,
  } satisfies Partial<ConsumerConfig>;
  try {
    await manager.consumers.add(CLICKS_STREAM, config);
  } catch (error) {
    if (!CONSUMER_EXISTS.has(jetStreamErrorCode(error))) throw error;
    await manager.consumers.update(CLICKS_STREAM, CLICKS_WORKER, {
      max_ack_pending: config.max_ack_pending,
    });
  }
}

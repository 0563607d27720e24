/** The stream of segments: the consumer that workers share, and reading segments of a batch again. */
import {
  AckPolicy,
  type Consumer,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
  type JsMsg,
  nanos,
  type NatsConnection,
} from "nats";

import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  jetStreamErrorCode,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { parseRanges } from "./ranges.ts";

/**
 * How soon the segments of a killed worker are redelivered to another one. A worker that needs longer reports
 * progress in time, which extends its wait.
 */
const ACK_WAIT_MS = 10_000;

/**
 * Most segments delivered but not acknowledged: those of an owner's two batches, and as many that workers before it
 * left (worker/batches/collector.ts).
 */
const ACK_PENDING_MAX = 10_000;

/** JetStream's error codes for a consumer that exists with another configuration. */
const CONSUMER_EXISTS = new Set([10_013, 10_105, 10_148]);

/** Messages of one fetch when segments are read again, and how long it waits for them. */
const READ_FETCH_MAX = 100;
const READ_FETCH_MS = 2_000;

/** After this time without a fetch the server deletes the consumer with which segments are read again. */
const READER_IDLE_MS = 10_000;

/** Creates the durable consumer that workers share, or gives that of a version before its settings. */
export async function ensureConsumer(manager: JetStreamManager): Promise<void> {
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
    if (!CONSUMER_EXISTS.has(jetStreamErrorCode(error) ?? 0)) throw error;
    await manager.consumers.update(CLICKS_STREAM, CLICKS_WORKER, {
      max_ack_pending: config.max_ack_pending,
    });
  }
}

/** The state of the durable consumer. */
export const readConsumer = async (connection: NatsConnection): Promise<ConsumerInfo> =>
  await (await connection.jetstreamManager()).consumers.info(CLICKS_STREAM, CLICKS_WORKER);

/** Reads the messages that have these sequences (text of `formatRanges`), if the stream still holds them. */
export async function* readSequences(
  connection: NatsConnection,
  sequences: string,
): AsyncGenerator<JsMsg> {
  const manager = await connection.jetstreamManager();
  const { state } = await manager.streams.info(CLICKS_STREAM);
  for (const [first, last] of parseRanges(sequences)) {
    const from = Math.max(first, state.first_seq);
    const to = Math.min(last, state.last_seq);
    if (from > to) continue;
    const name = `reader-${newUuid()}`;
    await manager.consumers.add(CLICKS_STREAM, {
      name,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
      inactive_threshold: nanos(READER_IDLE_MS),
      mem_storage: true,
    });
    const reader = await connection.jetstream().consumers.get(CLICKS_STREAM, name);
    yield* readUpTo(reader, to);
  }
}

async function* readUpTo(reader: Consumer, last: number): AsyncGenerator<JsMsg> {
  for (;;) {
    const fetched = await reader.fetch({ max_messages: READ_FETCH_MAX, expires: READ_FETCH_MS });
    let received = 0;
    for await (const message of fetched) {
      received++;
      if (message.seq <= last) yield message;
      if (message.seq >= last) {
        fetched.stop();
        return;
      }
    }
    if (received === 0) return;
  }
}

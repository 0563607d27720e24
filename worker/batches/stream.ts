/** The stream of segments: the durable consumer that workers share, and reads by sequence. */
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
  CONSUMER_EXISTS,
  jetStreamErrorCode,
  PULL_SEGMENTS,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { parseRanges } from "./ranges.ts";

/**
 * Time after which JetStream redelivers the segments of a killed worker. A worker that needs longer
 * reports progress before that, which restarts the time.
 */
const ACK_WAIT_MS = 10_000;

/**
 * Most segments delivered but not acknowledged: those of an owner's two batches
 * (worker/batches/collector.ts), and as many that earlier owners left.
 */
const ACK_PENDING_MAX = 10_000;

/** How long one fetch of a read by sequence waits for messages. */
const READ_FETCH_MS = 2_000;

/** After this time without a fetch the server deletes the consumer of a read by sequence. */
const READER_IDLE_MS = 10_000;

/** Creates the durable consumer, or updates that of an earlier version to these settings. */
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
    if (!CONSUMER_EXISTS.has(jetStreamErrorCode(error))) throw error;
    await manager.consumers.update(CLICKS_STREAM, CLICKS_WORKER, {
      max_ack_pending: config.max_ack_pending,
    });
  }
}

/** The state of the durable consumer. */
export const readConsumer = async (connection: NatsConnection): Promise<ConsumerInfo> =>
  await (await connection.jetstreamManager()).consumers.info(CLICKS_STREAM, CLICKS_WORKER);

/** Reads the messages with these sequences (a text of `formatRanges`) that the stream still has. */
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
    const fetched = await reader.fetch({ max_messages: PULL_SEGMENTS, expires: READ_FETCH_MS });
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

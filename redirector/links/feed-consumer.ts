/** Follows a stream of the feed with one JetStream consumer. */
import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
  type NatsConnection,
  type StreamInfo,
} from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  heartbeatSubject,
  readHeartbeat,
} from "../../shared/contracts/streams.ts";
import type { FeedEpoch } from "./feed-epoch.ts";
import type { FeedMessage } from "./feed-message.ts";
import {
  continues,
  isOutdated,
  isReplicated,
  NUMBERING_DIFFERENCE_MAX,
  resume,
  toAnnounced,
  toNanos,
} from "./feed-position.ts";
import { FeedPull } from "./feed-pull.ts";
import type { FeedWriter } from "./feed-writer.ts";

/**
 * The server deletes a consumer that has not pulled for this long; a new one resumes from the
 * position.
 */
const CONSUMER_INACTIVE_NS = 30_000_000_000;

export type ConsumeOptions = {
  /** Replicas of the stream, if this process creates it. */
  streamReplicas: number;
  /** Maximum time of a request to JetStream, in milliseconds. */
  requestTimeoutMs: number;
  /**
   * Messages of a pull, and how many messages before the position a new consumer starts, because
   * its server may number them differently. Tests vary both. Writing a change again has no effect.
   */
  pullBatch?: number | undefined;
  overlapMessages?: number | undefined;
};

export type ConsumeDeps = ConsumeOptions & {
  stream: LinksStream;
  /** The prefix of inboxes that the connection's user may use; undefined for any. */
  inboxPrefix: string | undefined;
  writer: FeedWriter;
  epoch: FeedEpoch;
  /** Whether to start another pull. Throws when the store must not be written any more. */
  shouldContinue: () => boolean;
  onLost: () => void;
  /** Called when a consumer has been created. */
  onConsumer: () => void;
  onPull: (pull: FeedPull) => void;
  /** Called after each successful pull. */
  onCurrent: () => void;
};

/**
 * A consumer's deliveries, and the difference between the stream leader's sequence numbers and
 * those of the consumer's server.
 */
type Delivery = { count: number; last: { sequence: number; at: number }; offset: number };

/** Follows the stream until the consumer or the position in the stream is lost. */
export async function consume(connection: NatsConnection, deps: ConsumeDeps): Promise<void> {
  const { stream: followed, writer, epoch, streamReplicas, requestTimeoutMs: timeout } = deps;
  epoch.restart();
  const options = { timeout, checkAPI: false };
  const manager = await connection.jetstreamManager(options);
  const readInfo = () => manager.streams.info(followed.name);
  await ensureLinksStream(manager, streamReplicas, followed);
  await findPosition(manager, readInfo, deps);
  const difference = isReplicated(await readInfo()) ? NUMBERING_DIFFERENCE_MAX : 0;
  const overlap = deps.overlapMessages ?? difference;
  const start = Math.max(1, writer.feed().sequence + 1 - overlap);
  const consumer = await addConsumer(manager, followed.name, start);
  deps.onConsumer();
  const delivery: Delivery = { count: 0, last: { sequence: 0, at: 0 }, offset: 0 };
  while (deps.shouldContinue()) {
    const before = delivery.count;
    const pull = new FeedPull(connection, consumer, deps.inboxPrefix, deps.pullBatch);
    if (!(await writeMessages(pull, delivery, deps))) return;
    epoch.sweep();
    // No message does not mean no change: only the stream's own state shows whether the position is
    // at its end.
    const info = await readInfo();
    if (!continues(writer.feed(), info)) return;
    if (isReplicated(info)) adoptNumbers(delivery, info, writer);
    const left = Math.max(0, info.state.last_seq - writer.feed().sequence);
    deps.onCurrent();
    epoch.flush(left);
    if (left === 0) epoch.compareCounts();
    if (epoch.restart()) return;
    // The stream has more messages, but the consumer delivered none: it is lost. Compares
    // deliveries instead of the position, which does not move while the overlap is delivered.
    if (left !== 0 && delivery.count === before) return;
  }
}

/**
 * Finds the position to read from: the store's, whether it is complete or being filled, or the
 * start of the stream if the store's is unusable.
 */
async function findPosition(
  manager: JetStreamManager,
  readInfo: () => Promise<StreamInfo>,
  { stream, writer, onLost }: ConsumeDeps,
): Promise<void> {
  const feed = writer.feed();
  const resumed = await resume(feed, readInfo, onLost);
  // After the position: no fill had begun before it if the heartbeat is still the known one.
  const heartbeat = await readHeartbeat(manager, stream);
  const isOld = resumed.sequence > 0 && isOutdated(feed, heartbeat);
  if (isOld) onLost();
  const begins = isOld || resumed.sequence === 0;
  const start = {
    sequence: 0,
    complete: false,
    announced: heartbeat ? toAnnounced(heartbeat) : null,
  };
  if (begins || resumed !== feed) writer.save({ ...feed, ...resumed, ...(begins ? start : {}) });
}

/**
 * Writes the changes of a pull, in one transaction unless it reaches the end of the stream before.
 * Returns false when messages were lost with a connection or a pull.
 */
async function writeMessages(
  pull: FeedPull,
  delivery: Delivery,
  deps: ConsumeDeps,
): Promise<boolean> {
  const { writer, epoch } = deps;
  deps.onPull(pull);
  let { pending } = writer.feed();
  try {
    for await (const { subject, seq: sequence, data, info } of pull) {
      // A new consumer starts after the last message written.
      if (info.deliverySequence !== ++delivery.count) return false;
      collect({ subject, sequence: sequence + delivery.offset, data }, deps);
      delivery.last = { sequence, at: info.timestampNanos };
      ({ pending } = info);
      if (pending === 0) epoch.flush(pending);
    }
    return true;
  } finally {
    // Also when the pull failed: the next one goes on after what it has brought.
    epoch.flush(pending);
  }
}

function collect(message: FeedMessage, { stream, writer, epoch }: ConsumeDeps): void {
  writer.add(message);
  writer.advance({ sequence: Math.max(writer.next().sequence, message.sequence) });
  if (message.subject === heartbeatSubject(stream)) epoch.applyHeartbeat(message.data);
}

/**
 * Adopts the leader's sequence numbers when the last delivered message is the stream's last, which
 * both then know.
 */
function adoptNumbers(delivery: Delivery, { state }: StreamInfo, writer: FeedWriter): void {
  if (delivery.last.at !== toNanos(state.last_ts)) return;
  delivery.offset = state.last_seq - delivery.last.sequence;
  const feed = writer.feed();
  if (feed.sequence !== state.last_seq) writer.save({ ...feed, sequence: state.last_seq });
}

/**
 * Adds a consumer for this process only, in memory: when its server dies, another one resumes from
 * the position.
 */
const addConsumer = (
  manager: JetStreamManager,
  stream: string,
  start: number,
): Promise<ConsumerInfo> =>
  manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: start,
    inactive_threshold: CONSUMER_INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
  });

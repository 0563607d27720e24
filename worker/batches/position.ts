/**
 * Checks that the durable consumer's position belongs to the stream. JetStream stores a consumer's
 * position apart from the stream, and one can survive without the other: after a power loss the
 * consumer may be newer than the stream, and a recreated stream may get the old stream's consumer.
 * New messages then get sequences that the consumer regards as acknowledged, and would never be
 * delivered. So the owner remembers its last message.
 */
import type { NatsConnection } from "nats";

import { CLICKS_STREAM, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import type { Position } from "./entries.ts";
import { ensureConsumer, readSequences } from "./stream.ts";

/** Whether the message is in the stream, or was before it expired. */
async function isInStream(
  connection: NatsConnection,
  { sequence, publishedAt }: Position,
): Promise<boolean> {
  const manager = await connection.jetstreamManager();
  const { state } = await manager.streams.info(CLICKS_STREAM);
  // The message has expired or was purged. An empty, recreated stream has 0 here.
  if (sequence < state.first_seq) return true;
  for await (const { info } of readSequences(connection, String(sequence)))
    return info.timestampNanos === publishedAt;
  return false;
}

/**
 * Recreates the durable consumer if the stream is not the one of this position, so that the whole
 * stream is delivered: the index of segments knows which of them are stored. Returns whether it
 * did.
 */
export async function resetConsumerIfMoved(
  connection: NatsConnection,
  position: Position | undefined,
): Promise<boolean> {
  if (position === undefined || (await isInStream(connection, position))) return false;
  const manager = await connection.jetstreamManager();
  await manager.consumers.delete(CLICKS_STREAM, CLICKS_WORKER);
  await ensureConsumer(manager);
  return true;
}

/**
 * The place in the stream that workers have reached. JetStream keeps a consumer's place apart from the stream, and one
 * can survive without the other: a server that loses power may have written the consumer later than the stream, and a
 * stream that is made anew may find the old one's consumer. What is published from then on gets sequences that the
 * consumer takes for acknowledged, and would never be delivered. So the owner remembers its last message.
 */
import type { NatsConnection } from "nats";

import { CLICKS_STREAM, CLICKS_WORKER } from "../../shared/contracts/streams.ts";
import type { Position } from "./entries.ts";
import { ensureConsumer, readSequences } from "./stream.ts";

/** Whether the stream still has this message, or had it before it expired. */
async function isInStream(
  connection: NatsConnection,
  { sequence, publishedAt }: Position,
): Promise<boolean> {
  const manager = await connection.jetstreamManager();
  const { state } = await manager.streams.info(CLICKS_STREAM);
  // Expired or purged. An empty stream that was made anew has 0 here.
  if (sequence < state.first_seq) return true;
  for await (const { info } of readSequences(connection, String(sequence)))
    return info.timestampNanos === publishedAt;
  return false;
}

/**
 * Makes the durable consumer anew if the stream is not the one of this position, so that the whole stream is delivered:
 * the index of segments knows what of it is stored. Returns whether it did.
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

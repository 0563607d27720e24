/**
 * The dead-letter queue: segments of clicks that ClickHouse rejected for good, to be listed,
 * retried or dropped.
 */
import type { JetStreamClient, JetStreamManager, StoredMsg } from "nats";

import { decodeSegment, formatSegmentId } from "./click-segment.ts";
import {
  CLICKS_SUBJECT,
  DEAD_LETTERS_STREAM,
  findMessage,
  readMessages,
  unlessNoStream,
} from "./streams.ts";

/** The message header in which the worker states why it dead-lettered a segment. */
export const REASON_HEADER = "Shorthop-Reason";

export type DeadLetter = {
  /** Sequence in the stream of dead letters; the command line refers to a dead letter by it. */
  sequence: number;
  /** The segment's id; null when the message is not a segment. */
  segment: string | null;
  clicks: number;
  bytes: number;
  reason: string;
  dead_lettered_at: string;
};

/** Lists all dead letters, oldest first. */
export async function listDeadLetters(manager: JetStreamManager): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const message of readMessages(manager, DEAD_LETTERS_STREAM))
    letters.push(toDeadLetter(message));
  return letters;
}

/**
 * Publishes a dead letter to the workers again and removes it from the queue. The message id is
 * new, as JetStream would drop the segment's own as a duplicate. The segment's id is unchanged, so
 * ClickHouse stores its clicks only once. Returns false when there is no such dead letter.
 */
export async function retryDeadLetter(
  manager: JetStreamManager,
  client: JetStreamClient,
  sequence: number,
): Promise<boolean> {
  const message = await findLetter(manager, sequence);
  if (message === undefined) return false;
  await client.publish(CLICKS_SUBJECT, message.data, { msgID: `dlq:${sequence}:${Date.now()}` });
  return await manager.streams.deleteMessage(DEAD_LETTERS_STREAM, sequence);
}

/** Deletes a dead letter; its clicks are lost. Returns false when there is no such dead letter. */
export async function dropDeadLetter(
  manager: JetStreamManager,
  sequence: number,
): Promise<boolean> {
  if ((await findLetter(manager, sequence)) === undefined) return false;
  return await manager.streams.deleteMessage(DEAD_LETTERS_STREAM, sequence);
}

const findLetter = (manager: JetStreamManager, seq: number): Promise<StoredMsg | undefined> =>
  unlessNoStream(findMessage(manager, DEAD_LETTERS_STREAM, { seq }));

function toDeadLetter({ seq, data, header, time }: StoredMsg): DeadLetter {
  const segment = decodeSegment(Buffer.from(data));
  return {
    sequence: seq,
    segment: segment === undefined ? null : formatSegmentId(segment),
    clicks: segment?.clicks.length ?? 0,
    bytes: data.length,
    reason: header.get(REASON_HEADER),
    dead_lettered_at: time.toISOString(),
  };
}

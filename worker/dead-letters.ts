/** Moves segments that can never be stored to the dead-letter queue. */
import { headers, type JsMsg, type NatsConnection } from "nats";

import { formatSegmentId, type SegmentId } from "../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../shared/contracts/dead-letters.ts";
import { DEAD_LETTERS_SUBJECT } from "../shared/contracts/streams.ts";
import type { Log } from "../shared/log.ts";

/** Most characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

/** Publishes a message as a dead letter, unchanged, and ends its delivery. */
export async function deadLetter(
  connection: NatsConnection,
  message: JsMsg,
  segment: SegmentId | undefined,
  { reason, log }: { reason: string; log: Log },
): Promise<void> {
  const id = segment === undefined ? `sequence:${message.seq}` : formatSegmentId(segment);
  const header = headers();
  header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
  await connection
    .jetstream()
    .publish(DEAD_LETTERS_SUBJECT, message.data, { msgID: id, headers: header });
  log.error({ segment: id, reason }, "segment_dead_lettered");
  message.term();
}

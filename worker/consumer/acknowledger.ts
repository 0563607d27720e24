/**
 * Ends the delivery of segments: acknowledges them, returns them to JetStream, or moves them to the
 * dead letters.
 */
import { headers, type JsMsg, type NatsConnection } from "nats";

import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../../shared/contracts/dead-letters.ts";
import { DEAD_LETTERS_SUBJECT } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { OwnerDeps } from "../batches/deps.ts";

/** Most characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

/** Counts segments and clicks by outcome. A torn segment is also counted as stored. */
export type CountOutcome = (
  outcome: "stored" | "dead_lettered" | "torn" | "duplicate",
  segments: number,
  clicks: number,
) => void;

type Messages = readonly Pick<JsMsg, "seq" | "data" | "ack" | "nak" | "term" | "working">[];

export type Acknowledger = {
  /** Acknowledges the messages of a stored segment; `whole` is false if it was torn. */
  acknowledge(messages: Messages, whole: boolean, clicks: number): void;
  /** Acknowledges a message whose segment was stored before. */
  acknowledgeDuplicate(message: JsMsg): void;
  /** Moves a segment that can never be stored to the dead-letter queue, unchanged. */
  deadLetter(messages: Messages, segment: DeadSegment): Promise<void>;
  /** Returns messages to JetStream, which delivers them to another worker. */
  returnToStream(messages: Messages): void;
  /**
   * Informs JetStream that the messages are still being processed, which postpones their
   * redelivery.
   */
  reportProgress(messages: Messages): void;
};

/** `id` is undefined if the message is not a segment. */
type DeadSegment = { id: SegmentId | undefined; clicks: number; reason: string };

type AcknowledgerDeps = {
  connection: NatsConnection;
  log: Log;
  count: CountOutcome;
  retry: OwnerDeps["retry"];
};

export function createAcknowledger({
  connection,
  log,
  count,
  retry,
}: AcknowledgerDeps): Acknowledger {
  /** If the connection is closed, JetStream redelivers the messages by itself. */
  function respond(messages: Messages, response: "ack" | "nak" | "term" | "working"): void {
    try {
      for (const message of messages) message[response]();
    } catch (error) {
      log.warn({ error }, "segment_response_failed");
    }
  }

  return {
    acknowledge(messages, whole, clicks) {
      if (!whole) {
        count("torn", 1, 0);
        log.warn({ sequences: messages.map(({ seq }) => seq), clicks }, "segment_not_whole");
      }
      count("stored", 1, clicks);
      respond(messages, "ack");
    },
    acknowledgeDuplicate(message) {
      count("duplicate", 1, 0);
      respond([message], "ack");
    },
    async deadLetter(messages, { id, clicks, reason }) {
      for (const { seq, data } of messages) {
        const msgID = id === undefined ? `sequence:${seq}` : formatSegmentId(id);
        const header = headers();
        header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
        await retry(() =>
          connection.jetstream().publish(DEAD_LETTERS_SUBJECT, data, { msgID, headers: header }),
        );
        log.error({ segment: msgID, reason }, "segment_dead_lettered");
      }
      count("dead_lettered", 1, clicks);
      respond(messages, "term");
    },
    returnToStream: (messages) => respond(messages, "nak"),
    reportProgress: (messages) => respond(messages, "working"),
  };
}

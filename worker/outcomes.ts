/** What becomes of delivered segments: they are acknowledged, returned to JetStream, or moved to the dead letters. */
import { headers, type JsMsg, type NatsConnection } from "nats";

import { formatSegmentId, type SegmentId } from "../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../shared/contracts/dead-letters.ts";
import { DEAD_LETTERS_SUBJECT } from "../shared/contracts/streams.ts";
import type { Log } from "../shared/log.ts";
import type { OwnerDeps } from "./batches/deps.ts";

/** Most characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

/** Counts segments and clicks by what became of them. */
export type Count = (
  outcome: "stored" | "dead" | "torn" | "duplicate",
  segments: number,
  clicks: number,
) => void;

type Messages = readonly Pick<JsMsg, "seq" | "data" | "ack" | "nak" | "term" | "working">[];

export type Outcomes = {
  /** Acknowledges a segment that is stored: by its messages, whether it was whole, and its number of clicks. */
  stored(messages: Messages, whole: boolean, clicks: number): void;
  /** Acknowledges a message whose segment was stored before. */
  duplicate(message: JsMsg): void;
  /** Moves a segment that can never be stored to the dead-letter queue, unchanged. */
  refused(messages: Messages, dead: DeadSegment): Promise<void>;
  /** Returns messages to JetStream, which delivers them to another worker. */
  returned(messages: Messages): void;
  /** Tells JetStream that messages are being worked on. */
  working(messages: Messages): void;
};

/** `id` is undefined of what is not a segment. */
type DeadSegment = { id: SegmentId | undefined; clicks: number; reason: string };

type OutcomesDeps = {
  connection: NatsConnection;
  log: Log;
  count: Count;
  retry: OwnerDeps<unknown>["retry"];
};

export function createOutcomes({ connection, log, count, retry }: OutcomesDeps): Outcomes {
  /** If the connection is closed, JetStream redelivers the messages by itself. */
  function respond(messages: Messages, response: "ack" | "nak" | "term" | "working"): void {
    try {
      for (const message of messages) message[response]();
    } catch (error) {
      log.warn({ error }, "segment_response_failed");
    }
  }

  return {
    stored(messages, whole, clicks) {
      if (!whole) {
        count("torn", 1, 0);
        log.warn({ sequences: messages.map(({ seq }) => seq), clicks }, "segment_not_whole");
      }
      count("stored", 1, clicks);
      respond(messages, "ack");
    },
    duplicate(message) {
      count("duplicate", 1, 0);
      respond([message], "ack");
    },
    async refused(messages, { id, clicks, reason }) {
      for (const { seq, data } of messages) {
        const msgID = id === undefined ? `sequence:${seq}` : formatSegmentId(id);
        const header = headers();
        header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
        await retry(() =>
          connection.jetstream().publish(DEAD_LETTERS_SUBJECT, data, { msgID, headers: header }),
        );
        log.error({ segment: msgID, reason }, "segment_dead_lettered");
      }
      count("dead", 1, clicks);
      respond(messages, "term");
    },
    returned: (messages) => respond(messages, "nak"),
    working: (messages) => respond(messages, "working"),
  };
}

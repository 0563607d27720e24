/**
 * Ends the delivery of segments: acknowledges them, returns them to JetStream, or moves them to the
 * dead letters.
 */
import { headers, type JsMsg, type NatsConnection } from "nats";

import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import { REASON_HEADER } from "../../shared/contracts/dead-letters.ts";
import { DEAD_LETTERS_SUBJECT } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { Retry } from "../batches/batch-log.ts";
import type { Metrics } from "../metrics.ts";

/** Most characters of the reason stored with a dead letter. */
const REASON_LENGTH_MAX = 500;

type Messages = readonly JsMsg[];

/** `id` is undefined if the message is not a segment. */
type DeadSegment = { id: SegmentId | undefined; clicks: number; reason: string };

export class Acknowledger {
  readonly #connection: NatsConnection;
  readonly #retry: Retry;
  readonly #metrics: Metrics;
  readonly #log: Log;

  constructor(connection: NatsConnection, retry: Retry, metrics: Metrics, log: Log) {
    this.#connection = connection;
    this.#retry = retry;
    this.#metrics = metrics;
    this.#log = log;
  }

  /** Acknowledges the messages of a stored segment; `whole` is false if it was torn. */
  acknowledge(messages: Messages, whole: boolean, clicks: number): void {
    if (!whole) {
      this.#metrics.count("torn", 1, 0);
      const sequences = messages.map(({ seq }) => seq);
      this.#log.warn({ sequences, clicks }, "segment_not_whole");
    }
    this.#metrics.count("stored", 1, clicks);
    this.#respond(messages, "ack");
  }

  /** Acknowledges a message whose segment was stored before. */
  acknowledgeDuplicate(message: JsMsg): void {
    this.#metrics.count("duplicate", 1, 0);
    this.#respond([message], "ack");
  }

  /** Moves a segment that can never be stored to the dead-letter queue, unchanged. */
  async deadLetter(messages: Messages, { id, clicks, reason }: DeadSegment): Promise<void> {
    for (const { seq, data } of messages) {
      const msgID = id === undefined ? `sequence:${seq}` : formatSegmentId(id);
      const header = headers();
      header.set(REASON_HEADER, reason.replaceAll(/[\r\n]+/g, " ").slice(0, REASON_LENGTH_MAX));
      const letter = { msgID, headers: header };
      await this.#retry(() =>
        this.#connection.jetstream().publish(DEAD_LETTERS_SUBJECT, data, letter),
      );
      this.#log.error({ segment: msgID, reason }, "segment_dead_lettered");
    }
    this.#metrics.count("dead_lettered", 1, clicks);
    this.#respond(messages, "term");
  }

  /** Returns messages to JetStream, which delivers them to another worker. */
  returnToStream(messages: Messages): void {
    this.#respond(messages, "nak");
  }

  /** Postpones the redelivery of messages that are still being processed. */
  reportProgress(messages: Messages): void {
    this.#respond(messages, "working");
  }

  /** If the connection is closed, JetStream redelivers the messages by itself. */
  #respond(messages: Messages, response: "ack" | "nak" | "term" | "working"): void {
    try {
      for (const message of messages) message[response]();
    } catch (error) {
      this.#log.warn({ error }, "segment_response_failed");
    }
  }
}

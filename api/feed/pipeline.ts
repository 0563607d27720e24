/**
 * Publishes many messages to a stream at once: without a request for each, thousands are on their way before the first is
 * acknowledged.
 */
import { createInbox, headers, type NatsConnection } from "nats";
import * as z from "zod";

import { WRONG_LAST_SEQUENCE } from "../../shared/contracts/streams.ts";

/** A message, and the sequence number of the last one that its subject has, 0 for none: else it is refused. */
export type ExpectingMessage = { subject: string; data: Uint8Array; last: number };

export type PipelineOutcome = {
  /** The highest sequence number that a message got; 0 when none did. */
  acknowledged: number;
  /** The places of those that were refused, as their subjects had other messages. */
  refused: number[];
  /** The places of those that failed otherwise, or of which nothing was heard. */
  failed: number[];
};

/** Header of a message that is refused unless it follows the one expected. */
const EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence";

const acknowledgement = z.object({
  seq: z.int().optional(),
  error: z.object({ err_code: z.int().optional() }).optional(),
});

export type PipelineOptions = {
  /** How long to wait after the last answer. */
  timeoutMs: number;
  /** Where the connection's user may have inboxes; undefined for anywhere. */
  inboxPrefix: string | undefined;
};

/** Publishes messages, and waits until all are answered. */
export async function publishPipelined(
  connection: NatsConnection,
  messages: readonly ExpectingMessage[],
  { timeoutMs, inboxPrefix }: PipelineOptions,
): Promise<PipelineOutcome> {
  const unanswered = new Set(messages.keys());
  const outcome: PipelineOutcome = { acknowledged: 0, refused: [], failed: [] };
  const answered = Promise.withResolvers<void>();
  const inbox = createInbox(inboxPrefix);
  const subscription = connection.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (error !== null) return answered.resolve();
      timer.refresh();
      const place = Number(message.subject.slice(inbox.length + 1));
      if (!unanswered.delete(place)) return;
      const { data } = acknowledgement.safeParse(message.data.length === 0 ? {} : message.json());
      if (data?.error?.err_code === WRONG_LAST_SEQUENCE) outcome.refused.push(place);
      else if (data?.error !== undefined || !data?.seq) outcome.failed.push(place);
      else outcome.acknowledged = Math.max(outcome.acknowledged, data.seq);
      if (unanswered.size === 0) answered.resolve();
    },
  });
  const timer = setTimeout(answered.resolve, timeoutMs);
  try {
    for (const [place, { subject, data, last }] of messages.entries()) {
      const expected = headers();
      expected.set(EXPECTED_LAST, String(last));
      connection.publish(subject, data, { reply: `${inbox}.${place}`, headers: expected });
    }
    if (messages.length > 0) await answered.promise;
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
  outcome.failed.push(...unanswered);
  return outcome;
}

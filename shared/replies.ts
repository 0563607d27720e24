/**
 * Replies to requests over NATS. The sender of a request names the reply subject, and we publish
 * there with our own permissions: it could name the subject of a link, or of a call that empties a
 * stream. So each kind of request gets replies only on the subjects that are meant for them.
 */
import type { Msg } from "nats";

import { createLimitedLog } from "./limited-log.ts";
import type { Log } from "./log.ts";
import type { ProcessMetrics } from "./metrics.ts";

export type Replies = {
  /**
   * Returns the function that replies to a request; undefined when the request has no reply
   * subject, or one that does not match `subjects`, which is logged and counted.
   */
  to(request: Msg, subjects: RegExp): ((data: string) => void) | undefined;
  /** Requests that were rejected because of their reply subject. */
  refused(): number;
};

export function createReplies(log: Log): Replies {
  const report = createLimitedLog(log, "reply_refused");
  let refused = 0;
  return {
    to(request, subjects) {
      if (subjects.test(request.reply ?? "")) return (data) => void request.respond(data);
      refused++;
      // The request's subject is one of few, without wildcards; the sender can set the reply
      // subject to anything.
      report(request.subject);
      return undefined;
    },
    refused: () => refused,
  };
}

/** Registers the metric of rejected requests. */
export function registerReplies({ counter }: Pick<ProcessMetrics, "counter">, replies: Replies) {
  const help = "Requests over NATS that were refused because of their reply subject";
  counter("replies_refused_total", help, replies.refused);
}

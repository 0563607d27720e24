/**
 * Takes the redirectors' reports of failed requests from NATS, and acknowledges those that are
 * stored.
 */
import type { Msg, NatsConnection } from "nats";

import {
  type FailureReport,
  failureReport,
  FAILURES_QUEUE,
  FAILURES_REPLIES,
  FAILURES_SUBJECT,
  reportId,
} from "../../shared/contracts/failures.ts";
import type { Log } from "../../shared/log.ts";
import type { Replies } from "../../shared/replies.ts";

/** Reports that are stored at a time; others are ignored, and sent again within seconds. */
const IN_FLIGHT_MAX = 8;

/** Reports by outcome: `rejected` ones are invalid, `failed` ones are sent again. */
type Outcomes = Record<"stored" | "rejected" | "failed", number>;

type IntakeDeps = {
  nats: Promise<NatsConnection>;
  replies: Replies;
  store: (report: FailureReport) => Promise<void>;
  log: Log;
};

/** Stores reports until the connection is closed. Returns the outcomes so far. */
export function startFailureIntake({ nats, replies, store, log }: IntakeDeps): () => Outcomes {
  const outcomes: Outcomes = { stored: 0, rejected: 0, failed: 0 };
  let inFlight = 0;

  async function handle(message: Msg): Promise<void> {
    const acknowledge = replies.to(message, FAILURES_REPLIES);
    if (acknowledge === undefined) return;
    const content = readJson(message);
    const { data: report, error } = failureReport.safeParse(content);
    if (report === undefined) {
      outcomes.rejected++;
      log.warn({ error }, "failure_report_rejected");
      // Unacknowledged, it would be sent again for ever, before all others.
      const { data } = reportId.safeParse(content);
      if (data !== undefined) acknowledge(data.id);
      return;
    }
    inFlight++;
    try {
      await store(report);
      outcomes.stored++;
      acknowledge(report.id);
    } catch (error) {
      outcomes.failed++;
      log.warn({ error }, "failure_report_not_stored");
    } finally {
      inFlight--;
    }
  }

  async function run(): Promise<void> {
    (await nats).subscribe(FAILURES_SUBJECT, {
      queue: FAILURES_QUEUE,
      callback: (error, message) => {
        if (error !== null) log.warn({ error }, "failure_reports_not_received");
        else if (inFlight < IN_FLIGHT_MAX) void handle(message);
      },
    });
  }

  run().catch((error: unknown) => log.warn({ error }, "failure_reports_not_received"));
  return () => outcomes;
}

function readJson(message: Msg): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}

/**
 * Reports failed requests to a worker. A report is sent again until the worker confirms that it is
 * stored. So an outage of NATS, the workers or ClickHouse delays counts. A crash of the redirector
 * loses those not yet stored: unlike clicks, failures are not journalled.
 */
import type { NatsConnection } from "nats";

import {
  FAILURE_BUCKET_SECONDS,
  type FailureReport,
  FAILURES_SUBJECT,
  failuresAckSubject,
} from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { createFailureCounts } from "./counts.ts";

/**
 * Maximum waiting reports, of up to 1 MiB each: without a flood, enough for an outage of four
 * hours.
 */
const REPORTS_MAX = 16;

/** How long a stop waits for reports to be stored. */
const STOP_MS = 1_000;

type PendingReport = { id: string; data: string; total: number };

export type FailureReporter = {
  /** Counts a failure of a link. */
  countLink(failure: Omit<FailureReport["links"][number], "requests">): void;
  /** Counts a request for an alias of a custom domain that no link has. */
  countUnknownAlias(domain: string, alias: string): void;
  /**
   * Reports not yet stored, counters of the next report, and failed requests dropped because of a
   * bound.
   */
  stats(): { pending: number; entries: number; dropped: number };
  /** Sends the remaining reports; those not stored within a second are lost. */
  stop(): Promise<void>;
};

type ReporterDeps = {
  nats: Pick<Nats, "connection" | "connected">;
  log: Log;
  /** Time between two reports, and until an unacknowledged report is sent again. */
  intervalMs: number;
  now?: () => number;
};

export function startFailureReporter(deps: ReporterDeps): FailureReporter {
  const { nats, log, intervalMs, now = Date.now } = deps;
  const counts = createFailureCounts();
  const reports = createReportQueue(nats, log);
  let bucket = 0;
  let dropped = 0;

  /** Creates a report from the current counts. */
  function seal(): void {
    const total = counts.total();
    if (total === 0) return;
    const report: FailureReport = { id: newUuid(), bucket, ...counts.drain() };
    dropped += reports.add({ id: report.id, data: JSON.stringify(report), total });
  }

  /** Starts a new report at each quarter hour. */
  function turn(): void {
    const current = Math.floor(now() / 1_000 / FAILURE_BUCKET_SECONDS) * FAILURE_BUCKET_SECONDS;
    if (current !== bucket) seal();
    bucket = current;
  }

  const timer = setInterval(() => {
    turn();
    if (reports.size() === 0) seal();
    reports.send();
  }, intervalMs);

  return {
    countLink(failure) {
      turn();
      if (counts.addLink(failure)) return;
      seal();
      counts.addLink(failure);
    },
    countUnknownAlias(domain, alias) {
      turn();
      // Reporting early for each flood of made-up hosts would cause a flood of reports.
      if (!counts.addUnknownAlias(domain, alias)) dropped++;
    },
    stats: () => ({ pending: reports.size(), entries: counts.entries(), dropped }),
    async stop() {
      clearInterval(timer);
      seal();
      reports.send();
      const deadline = Date.now() + STOP_MS;
      while (reports.isWaiting() && Date.now() < deadline) await Bun.sleep(10);
    },
  };
}

/**
 * Creates the queue of reports not yet stored; the first one is sent until a worker has stored it.
 */
function createReportQueue(nats: ReporterDeps["nats"], log: Log) {
  const id = newUuid();
  const queue: PendingReport[] = [];
  let connection: NatsConnection | undefined;

  function send(): void {
    const [next] = queue;
    // Without a connection, the client would buffer published messages in memory again.
    if (next === undefined || connection === undefined || !nats.connected()) return;
    connection.publish(FAILURES_SUBJECT, next.data, { reply: failuresAckSubject(id) });
  }

  function acknowledge(stored: string): void {
    if (queue[0]?.id !== stored) return;
    queue.shift();
    send();
  }

  async function listen(): Promise<void> {
    const opened = await nats.connection;
    opened.subscribe(failuresAckSubject(id), {
      callback: (error, message) => {
        if (error === null) acknowledge(message.string());
        else log.warn({ error }, "failures_not_acknowledged");
      },
    });
    connection = opened;
  }

  listen().catch((error: unknown) => log.warn({ error }, "failures_not_reported"));
  return {
    /**
     * Adds a report; returns how many failed requests were dropped with another report to free
     * space.
     */
    add(report: PendingReport): number {
      queue.push(report);
      return queue.length > REPORTS_MAX ? (queue.shift()?.total ?? 0) : 0;
    },
    send,
    size: (): number => queue.length,
    /** Whether a report waits to be stored, and a connection has existed to send it. */
    isWaiting: (): boolean => queue.length > 0 && connection !== undefined,
  };
}

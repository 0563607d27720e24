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
import { FailureCounts, type LinkFailures } from "./counts.ts";

/**
 * Maximum waiting reports, of up to 1 MiB each: without a flood, enough for an outage of four
 * hours.
 */
const REPORTS_MAX = 16;

/** How long a stop waits for reports to be stored. */
const STOP_MS = 1_000;

/** Where requests count their failures. */
export interface FailureLog {
  /** Counts a failure of a link. */
  countLink(failure: Omit<LinkFailures, "requests">): void;
  /** Counts a request for an alias of a custom domain that no link has. */
  countUnknownAlias(domain: string, alias: string): void;
}

export class FailureReporter implements FailureLog {
  readonly #now: () => number;
  readonly #counts = new FailureCounts();
  readonly #reports: ReportQueue;
  readonly #timer: Timer;
  /** The quarter hour of the counts, in Unix seconds. */
  #bucket = 0;
  #dropped = 0;

  /** Reports at an interval, after which a report without acknowledgement is sent again, too. */
  constructor(nats: Nats, intervalMs: number, log: Log, now = Date.now) {
    this.#now = now;
    this.#reports = new ReportQueue(nats, log);
    this.#timer = setInterval(() => {
      this.#startBucket();
      if (this.#reports.size === 0) this.#seal();
      this.#reports.send();
    }, intervalMs);
  }

  countLink(failure: Omit<LinkFailures, "requests">): void {
    this.#startBucket();
    if (this.#counts.addLink(failure)) return;
    this.#seal();
    this.#counts.addLink(failure);
  }

  countUnknownAlias(domain: string, alias: string): void {
    this.#startBucket();
    // Reporting early for each flood of made-up hosts would cause a flood of reports.
    if (!this.#counts.addUnknownAlias(domain, alias)) this.#dropped++;
  }

  /**
   * Reports not yet stored, counters of the next report, and failed requests dropped because of a
   * bound.
   */
  stats(): { pending: number; entries: number; dropped: number } {
    const { entries } = this.#counts;
    return { pending: this.#reports.size, entries, dropped: this.#dropped };
  }

  /** Sends the remaining reports; those not stored within a second are lost. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#seal();
    this.#reports.send();
    const deadline = Date.now() + STOP_MS;
    while (this.#reports.isWaiting && Date.now() < deadline) await Bun.sleep(10);
  }

  /** Starts a new report at each quarter hour. */
  #startBucket(): void {
    const seconds = this.#now() / 1_000;
    const current = Math.floor(seconds / FAILURE_BUCKET_SECONDS) * FAILURE_BUCKET_SECONDS;
    if (current !== this.#bucket) this.#seal();
    this.#bucket = current;
  }

  /** Makes a report of the counts. */
  #seal(): void {
    const { total } = this.#counts;
    if (total === 0) return;
    const report: FailureReport = {
      id: newUuid(),
      bucket: this.#bucket,
      ...this.#counts.drain(),
    };
    this.#dropped += this.#reports.add({ id: report.id, data: JSON.stringify(report), total });
  }
}

type PendingReport = { id: string; data: string; total: number };

/** Reports not yet stored; the first one is sent until a worker has stored it. */
class ReportQueue {
  readonly #id = newUuid();
  readonly #nats: Nats;
  readonly #log: Log;
  readonly #queue: PendingReport[] = [];
  #connection: NatsConnection | undefined;

  constructor(nats: Nats, log: Log) {
    this.#nats = nats;
    this.#log = log;
    this.#listen().catch((error: unknown) => log.warn({ error }, "failures_not_reported"));
  }

  /**
   * Adds a report; returns how many failed requests were dropped with another report to free space.
   */
  add(report: PendingReport): number {
    this.#queue.push(report);
    return this.#queue.length > REPORTS_MAX ? (this.#queue.shift()?.total ?? 0) : 0;
  }

  send(): void {
    const [next] = this.#queue;
    // Without a connection, the client would buffer published messages in memory again.
    if (next === undefined || !this.#nats.connected()) return;
    this.#connection?.publish(FAILURES_SUBJECT, next.data, { reply: failuresAckSubject(this.#id) });
  }

  get size(): number {
    return this.#queue.length;
  }

  /** Whether a report waits to be stored, and a connection has existed to send it. */
  get isWaiting(): boolean {
    return this.#queue.length > 0 && this.#connection !== undefined;
  }

  async #listen(): Promise<void> {
    const opened = await this.#nats.connection;
    opened.subscribe(failuresAckSubject(this.#id), {
      callback: (error, message) => {
        if (error === null) this.#onStored(message.string());
        else this.#log.warn({ error }, "failures_not_acknowledged");
      },
    });
    this.#connection = opened;
  }

  #onStored(id: string): void {
    if (this.#queue[0]?.id !== id) return;
    this.#queue.shift();
    this.send();
  }
}

/** Metrics of the API. */
import type { Histogram, Registry } from "prom-client";

import { CoalescedCalls } from "../shared/coalesced-calls.ts";
import { DAY_MS } from "../shared/durations.ts";
import { ProcessMetrics } from "../shared/metrics.ts";
import type { Replies } from "../shared/nats.ts";
import type { EventWaits } from "./events/service.ts";
import { readOutbox } from "./links-log/log.ts";
import type { SnapshotMaker } from "./links-snapshots/snapshot-maker.ts";
import { readDelay } from "./mail/queue.ts";
import type { MailResult } from "./mail/send.ts";
import type { Sql } from "./postgres.ts";
import type { CompletedRequest } from "./site.ts";
import { readLag } from "./webhooks/service.ts";

const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Methods with their own label value; clients cannot add others. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Work other than requests. */
type Load = {
  passwords: { waiting(): number };
  poller: { links(): number };
  live: { count(): number };
  waits: EventWaits;
};

export class ApiMetrics {
  readonly registry: Registry;
  readonly #process: ProcessMetrics;
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #mails = { sent: 0, refused: 0, later: 0, unknown: 0, withdrawn: 0 };

  constructor(sql: Sql, replies: Replies) {
    this.#process = new ProcessMetrics("api");
    this.registry = this.#process.registry;
    replies.register(this.#process);
    this.#requests = this.#process.histogram(
      "http_request_duration_seconds",
      "Time from a request to its response, by method, route pattern and status",
      { buckets: REQUEST_BUCKETS, labelNames: ["method", "route", "status"] },
    );
    this.#process.counterBy(
      "outcome",
      "mails_total",
      "Mails, by what came of each",
      () => this.#mails,
    );
    this.#watchStore(sql);
  }

  observe({ request: { method }, route, status, seconds }: CompletedRequest): void {
    this.#requests.observe(
      {
        method: METHODS.has(method) ? method : "other",
        route: route || "none",
        status: String(status),
      },
      seconds,
    );
  }

  /** Counts a mail, by what came of it. */
  observeMail(outcome: MailResult["outcome"]): void {
    this.#mails[outcome] += 1;
  }

  /** Registers the metrics of snapshots of all links. */
  watchSnapshots(snapshots: SnapshotMaker): void {
    const { gauge, counterBy } = this.#process;
    const storedHelp = "When the last snapshot of all links was stored; absent when unknown";
    gauge("links_snapshot_timestamp_seconds", storedHelp, () =>
      toSeconds(snapshots.storedAt?.getTime()),
    );
    const requestsHelp = "Requests of hosts for a snapshot, by what came of each";
    counterBy("outcome", "links_snapshot_requests_total", requestsHelp, () => snapshots.requests);
  }

  /** Registers the metrics of work other than requests. */
  watchLoad({ passwords, poller, live, waits }: Load): void {
    const { gauge } = this.#process;
    gauge("live_streams", "Open live streams of clicks", () => live.count());
    gauge("live_links", "Links that live streams follow; each is polled once", () =>
      poller.links(),
    );
    gauge("event_waits", "Requests that wait for events", () => waits.count);
    gauge("password_hashes_pending", "Passwords that wait to be hashed", () => passwords.waiting());
  }

  /** Registers what is read from PostgreSQL; the metrics of one scrape share a query. */
  #watchStore(sql: Sql): void {
    const { gauge } = this.#process;
    const outbox = new CoalescedCalls<void, { pending: number; oldest: number | null }>(() =>
      readOutbox(sql),
    );
    const pendingHelp = "Changes of links that redirectors have not received; absent when unknown";
    gauge("outbox_pending", pendingHelp, async () => (await outbox.run()).pending);
    const oldestHelp = "When the oldest of those changes was made; absent when there is none";
    gauge(
      "outbox_oldest_timestamp_seconds",
      oldestHelp,
      async () => (await outbox.run()).oldest ?? undefined,
    );
    const backups = new CoalescedCalls<void, BackupTimes>(() => readBackups(sql));
    const madeHelp = "When the newest backup was made; absent when none is known";
    gauge("backup_timestamp_seconds", madeHelp, async () =>
      toSeconds((await backups.run()).madeAt),
    );
    const provenHelp =
      "When the newest backup was made that a drill has restored; absent without one";
    gauge("backup_proven_timestamp_seconds", provenHelp, async () =>
      toSeconds((await backups.run()).provenAt),
    );
    const delayHelp = "How long the oldest mail has waited; 0 while none waits";
    gauge("mails_delay_seconds", delayHelp, () => readDelay(sql));
    const lagHelp =
      "How long an event has waited for a webhook, apart from those that fail or are slow";
    gauge("webhooks_lag_seconds", lagHelp, () => readLag(sql));
  }
}

const toSeconds = (milliseconds: number | undefined): number | undefined =>
  milliseconds === undefined ? undefined : milliseconds / 1_000;

/** Times in Unix milliseconds; undefined when there is none. */
type BackupTimes = {
  madeAt: number | undefined;
  /** When the newest backup was made that a drill has restored. */
  provenAt: number | undefined;
};

/** A backup is made every night. */
const MADE_DAYS_MAX = 2;

/** A drill runs once a week, on a backup of the night before. */
const PROVEN_DAYS_MAX = 9;

/** Reads when the newest backups of all places were made and proven. */
export async function readBackups(sql: Sql): Promise<BackupTimes> {
  const [row] = await sql<[{ made: number | null; proven: number | null }]>`
    select (extract(epoch from max(made_at)) * 1000)::float8 as made,
           (extract(epoch from max(proven_at)) * 1000)::float8 as proven
      from backups`;
  return { madeAt: row.made ?? undefined, provenAt: row.proven ?? undefined };
}

/** Returns what is wrong with the backups; undefined if there is a recent and proven one. */
export function describeBackups(
  { madeAt, provenAt }: BackupTimes,
  now = Date.now(),
): string | undefined {
  const days = (at: number) => Math.floor((now - at) / DAY_MS);
  if (madeAt === undefined) return "no backup is known";
  if (days(madeAt) >= MADE_DAYS_MAX) return `the newest backup is ${days(madeAt)} days old`;
  if (provenAt === undefined) return "no backup was ever restored by a drill";
  if (days(provenAt) < PROVEN_DAYS_MAX) return undefined;
  return `the newest backup that a drill has restored is ${days(provenAt)} days old`;
}

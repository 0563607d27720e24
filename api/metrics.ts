/** Metrics of the API. */
import { createProcessMetrics } from "../shared/metrics.ts";
import { registerReplies, type Replies } from "../shared/replies.ts";
import type { BackupTimes } from "./backups/model.ts";
import type { Observe } from "./http/metrics-plugin.ts";
import type { SnapshotMaker } from "./links-snapshots/snapshot-maker.ts";
import type { MailResult } from "./mail/send.ts";

const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Methods with their own label value; clients cannot add others. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

type Load = {
  passwords: { waiting(): number };
  poller: { links(): number };
  live: { count(): number };
  waits: { count(): number };
};

type MetricsDeps = {
  /** The number of changes that are not published, and the time of the oldest in Unix seconds. */
  outbox: () => Promise<{ pending: number; oldest: number | null }>;
  snapshots: SnapshotMaker;
  backups: () => Promise<BackupTimes>;
  /** How many seconds the oldest mail has waited. */
  mailDelay: () => Promise<number>;
  /** How many seconds an event has waited for a webhook. */
  webhooksLag: () => Promise<number>;
  replies: Replies;
};

export function createMetrics(deps: MetricsDeps) {
  const { outbox, snapshots, backups, mailDelay, webhooksLag, replies } = deps;
  const metrics = createProcessMetrics("api");
  const { registry, gauge, counterBy, histogram } = metrics;
  registerReplies(metrics, replies);
  const requests = histogram(
    "http_request_duration_seconds",
    "Time from a request to its response, by method, route pattern and status",
    { buckets: REQUEST_BUCKETS, labelNames: ["method", "route", "status"] },
  );
  const readOutbox = coalesce(outbox);
  const pendingHelp = "Changes of links that redirectors have not received; absent when unknown";
  gauge("outbox_pending", pendingHelp, async () => (await readOutbox()).pending);
  const oldestHelp = "When the oldest of those changes was made; absent when there is none";
  gauge(
    "outbox_oldest_timestamp_seconds",
    oldestHelp,
    async () => (await readOutbox()).oldest ?? undefined,
  );

  const snapshotHelp = "When the last snapshot of all links was stored; absent when unknown";
  gauge("links_snapshot_timestamp_seconds", snapshotHelp, () =>
    toSeconds(snapshots.storedAt?.getTime()),
  );
  const requestsHelp = "Requests of hosts for a snapshot, by what came of each";
  counterBy("outcome", "links_snapshot_requests_total", requestsHelp, () => snapshots.requests);
  const readBackups = coalesce(backups);
  const madeHelp = "When the newest backup was made; absent when none is known";
  gauge("backup_timestamp_seconds", madeHelp, async () => toSeconds((await readBackups()).madeAt));
  const provenHelp =
    "When the newest backup was made that a drill has restored; absent without one";
  gauge("backup_proven_timestamp_seconds", provenHelp, async () =>
    toSeconds((await readBackups()).provenAt),
  );

  const mails = { sent: 0, refused: 0, later: 0, unknown: 0, withdrawn: 0 };
  counterBy("outcome", "mails_total", "Mails, by what came of each", () => mails);
  const delayHelp = "How long the oldest mail has waited; 0 while none waits";
  gauge("mails_delay_seconds", delayHelp, mailDelay);
  const lagHelp =
    "How long an event has waited for a webhook, apart from those that fail or are slow";
  gauge("webhooks_lag_seconds", lagHelp, webhooksLag);

  const observe: Observe = ({ request: { method }, route, status, seconds }) =>
    requests.observe(
      {
        method: METHODS.has(method) ? method : "other",
        route: route || "none",
        status: String(status),
      },
      seconds,
    );
  return {
    registry,
    observe,
    observeMail: (outcome: MailResult["outcome"]): void => void (mails[outcome] += 1),
    /** Registers the metrics of work other than requests. */
    watchLoad({ passwords, poller, live, waits }: Load): void {
      gauge("live_streams", "Open live streams of clicks", () => live.count());
      gauge("live_links", "Links that live streams follow; each is polled once", () =>
        poller.links(),
      );
      gauge("event_waits", "Requests that wait for events", waits.count);
      gauge("password_hashes_pending", "Passwords that wait to be hashed", () =>
        passwords.waiting(),
      );
    },
  };
}

const toSeconds = (milliseconds: number | undefined): number | undefined =>
  milliseconds === undefined ? undefined : milliseconds / 1_000;

/** Shares one query between the metrics of one scrape. */
function coalesce<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | undefined;
  return () => (running ??= read().finally(() => void (running = undefined)));
}

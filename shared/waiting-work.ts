/** Work that waits or begins by itself: who takes turns in it, and who pays for it. */

/**
 * Queues in which work waits, by the file, and who takes turns in it or what bounds it. A new one
 * fails a test until it is named here.
 */
export const QUEUES: Readonly<Record<string, string>> = {
  "api/clickhouse.ts": "queries: accounts take turns; `statistics` and its like",
  "api/limits/drawing.ts": "logos and QR codes: accounts take turns; `images`",
  "api/passwords/hashing.ts": "passwords: accounts take turns after users; `link_passwords`",
  "redirector/failures/reporter.ts":
    "reports of failures: counts of all links, by a bound of their number",
  "redirector/journal/publisher.ts":
    "segments of clicks: of all links in one order; the journal's size",
  "redirector/passwords/password.ts": "passwords of links: networks take turns",
  "shared/turns.ts": "turns of the event loop: each piece of work has one",
  "worker/batches/repair.ts": "segments of clicks that are repaired: of all links in one order",
  "worker/events/recorder.ts": "batches of clicks: of all links in one order; `click_event_bytes`",
};

/**
 * Work that begins by itself, by the file, and which budget it takes from or why it takes from
 * none. A new one fails a test until it is named here.
 */
export const JOBS: Readonly<Record<string, string>> = {
  "api/domains/proof-checks.ts": "proofs of domains: the quota of domains",
  "api/limits/stream-leases.ts": "leases of live streams: the quota of live streams",
  "api/links/republish/job.ts": "links of whole domains that are republished: the quota of domains",
  "api/mail/queue.ts": "mails: those that members, reports and webhooks are due, some at a time",
  "api/maintenance/events.ts": "notices about links, `ledger_bytes`; deletions, some at a time",
  "api/maintenance/expired-rows.ts": "deletions: of what was paid for when it was written",
  "api/reports/due.ts": "reports that are due: `report_statistics`, and `ledger_bytes`",
  "redirector/failures/reporter.ts": "counts of failures: of the service",
  "redirector/http/connections.ts": "connections that are idle: of the service",
  "redirector/journal/journal.ts": "writing clicks to disk: of the service",
  "redirector/journal/publisher.ts": "sending clicks on: of the service",
  "redirector/limits/reports.ts": "uses of click limits: of the service",
  "redirector/links/host-links.ts": "the store of links: of the service",
  "shared/sd-notify.ts": "the process's sign of life: of the service",
  "shared/stream-readability.ts": "the state of the streams: of the service",
  "shared/stream-replicas.ts": "the state of the streams: of the service",
  "worker/batches/renewal.ts": "the worker's lease: of the service",
  "worker/consistency-check.ts": "a check of what was counted: of the service",
  "worker/consumer/owner-loop.ts": "clicks of all accounts in one order: of the service",
  "worker/disk-room.ts": "the room on the disk: of the service",
  "worker/webhooks/deliverer.ts":
    "deliveries: accounts take turns; `deliveries`, and `ledger_bytes` when they were caused",
};

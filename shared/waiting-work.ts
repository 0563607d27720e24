/**
 * All work whose amount is not that of one request: calls and the budgets that they take from,
 * queues and who takes turns in them, and jobs that begin by themselves.
 */
import type { AccountBudgetName } from "./budgets.ts";

/**
 * The budgets of its account that each call of the API takes from, beside the requests of its plan.
 * A call that takes from none reads or writes a bounded number of rows. A test fails for a call
 * that is not named here, or that takes from other budgets.
 */
export const CALLS: Readonly<Record<string, readonly AccountBudgetName[]>> = {
  "POST /v1/links": ["changed_links", "ledger_bytes", "link_passwords"],
  "POST /v1/links/bulk": ["bulk_rows", "changed_links", "ledger_bytes", "link_passwords"],
  "POST /v1/links/bulk/check": ["checked_aliases"],
  "PATCH /v1/links/bulk": ["changed_links", "ledger_bytes", "link_passwords"],
  "POST /v1/links/bulk/delete": ["changed_links", "ledger_bytes"],
  "PUT /v1/links/external/{external_id}": [
    "bulk_rows",
    "changed_links",
    "ledger_bytes",
    "link_passwords",
  ],
  "GET /v1/links/external/{external_id}": [],
  "PATCH /v1/links/external/{external_id}": ["changed_links", "ledger_bytes", "link_passwords"],
  "DELETE /v1/links/external/{external_id}": ["changed_links", "ledger_bytes"],
  "POST /v1/tags/merge": ["changed_links", "ledger_bytes"],
  "GET /v1/tags": ["listed_links"],
  "PATCH /v1/tags/{id}": ["changed_links", "ledger_bytes", "listed_links"],
  "DELETE /v1/tags/{id}": ["changed_links", "ledger_bytes"],
  "GET /v1/links": ["listed_links"],
  "GET /v1/links/lookup": [],
  "GET /v1/links/{id}/qr": ["images"],
  "GET /v1/links/{id}": [],
  "PATCH /v1/links/{id}": ["changed_links", "ledger_bytes", "link_passwords"],
  "DELETE /v1/links/{id}": ["changed_links", "ledger_bytes"],
  "POST /v1/links/{id}/explain": [],
  "GET /v1/analytics": ["statistics"],
  "GET /v1/analytics/geo": ["statistics"],
  "GET /v1/analytics/devices": ["statistics"],
  "GET /v1/analytics/referrers": ["statistics"],
  "GET /v1/analytics/{id}": ["statistics"],
  "GET /v1/analytics/{id}/stream": [],
  "GET /v1/analytics/{id}/geo": ["statistics"],
  "GET /v1/analytics/{id}/devices": ["statistics"],
  "GET /v1/analytics/{id}/referrers": ["statistics"],
  "GET /v1/analytics/breakdown": ["statistics"],
  "GET /v1/analytics/times": ["statistics"],
  "GET /v1/analytics/failures": ["statistics"],
  "GET /v1/analytics/{id}/breakdown": ["statistics"],
  "GET /v1/analytics/{id}/times": ["statistics"],
  "GET /v1/analytics/{id}/targets": ["statistics"],
  "GET /v1/clicks": ["statistics"],
  "GET /v1/clicks/export": ["ledger_bytes", "statistics"],
  "POST /v1/analytics/bulk": ["statistics"],
  "GET /v1/domains": [],
  "POST /v1/domains": ["ledger_bytes"],
  "GET /v1/domains/{id}": [],
  "PATCH /v1/domains/{id}": ["changed_links", "ledger_bytes"],
  "POST /v1/domains/{id}/verify": ["ledger_bytes"],
  "DELETE /v1/domains/{id}": ["ledger_bytes"],
  "GET /v1/shares": [],
  "POST /v1/shares": ["ledger_bytes", "link_passwords"],
  "GET /v1/shares/{id}": [],
  "PATCH /v1/shares/{id}": ["ledger_bytes", "link_passwords"],
  "POST /v1/shares/{id}/rotate": ["ledger_bytes"],
  "DELETE /v1/shares/{id}": ["ledger_bytes"],
  "GET /v1/branding": [],
  "PATCH /v1/branding": ["images", "ledger_bytes"],
  "GET /v1/views": [],
  "PUT /v1/views/{id}": ["ledger_bytes"],
  "DELETE /v1/views/{id}": ["ledger_bytes"],
  "GET /v1/link-filters": [],
  "PUT /v1/link-filters/{id}": ["ledger_bytes"],
  "DELETE /v1/link-filters/{id}": ["ledger_bytes"],
  "GET /v1/utm-templates": [],
  "PUT /v1/utm-templates/{id}": ["ledger_bytes"],
  "DELETE /v1/utm-templates/{id}": ["ledger_bytes"],
  "GET /v1/webhooks": [],
  "POST /v1/webhooks": ["ledger_bytes"],
  "GET /v1/webhooks/{id}": [],
  "PATCH /v1/webhooks/{id}": ["ledger_bytes"],
  "POST /v1/webhooks/{id}/rotate": ["ledger_bytes"],
  "POST /v1/webhooks/{id}/test": [],
  "GET /v1/webhooks/{id}/deliveries": [],
  "POST /v1/webhooks/{id}/deliveries/{delivery}/retry": [],
  "POST /v1/webhooks/{id}/replay": ["ledger_bytes"],
  "DELETE /v1/webhooks/{id}": ["ledger_bytes"],
  "GET /v1/events": [],
  "GET /v1/reports": [],
  "POST /v1/reports": ["ledger_bytes"],
  "GET /v1/reports/{id}": [],
  "PATCH /v1/reports/{id}": ["ledger_bytes"],
  "POST /v1/reports/{id}/send": ["ledger_bytes", "report_statistics", "requested_reports"],
  "GET /v1/reports/{id}/runs": [],
  "DELETE /v1/reports/{id}": ["ledger_bytes"],
  "GET /v1/keys": [],
  "POST /v1/keys": ["ledger_bytes"],
  "GET /v1/keys/{id}": [],
  "POST /v1/keys/{id}/rotate": ["ledger_bytes"],
  "DELETE /v1/keys/{id}": ["ledger_bytes"],
  "GET /v1/limits": [],
};

/**
 * Queues in which work waits, by the file, and who takes turns in it or what bounds it. A new one
 * fails a test until it is named here.
 */
export const QUEUES: Readonly<Record<string, string>> = {
  "api/clickhouse.ts": "queries: accounts take turns; `statistics` and its like",
  "api/limits/budgets.ts": "logos and QR codes: accounts take turns; `images`",
  "api/passwords/hashing.ts": "passwords: accounts take turns after users; `link_passwords`",
  "redirector/failures/reporter.ts":
    "reports of failures: counts of all links, by a bound of their number",
  "redirector/journal/publisher.worker.ts":
    "segments of clicks: of all links in one order; the journal's size",
  "redirector/passwords/password.ts": "passwords of links: networks take turns",
  "shared/time-slice.ts": "turns of the event loop: each piece of work has one",
  "worker/events/recorder.ts": "batches of clicks: of all links in one order; `click_event_bytes`",
  "worker/repairs.ts": "buckets of rollups that are repaired: of all links in one order",
};

/**
 * Work that begins by itself, by the file, and which budget it takes from or why it takes from
 * none. A new one fails a test until it is named here.
 */
export const JOBS: Readonly<Record<string, string>> = {
  "api/analytics/live.ts": "leases of live streams: the quota of live streams",
  "api/links/republishing.ts": "links of whole domains that are republished: the quota of domains",
  "api/links-log/publisher.ts": "changes of links of all accounts, in one order: of the service",
  "api/links-snapshots/snapshot-maker.ts":
    "a snapshot of all links, when one is due: of the service",
  "api/mail/queue.ts": "mails: those that members, reports and webhooks are due, some at a time",
  "api/maintenance.ts":
    "notices about links: `ledger_bytes`; proofs of domains: the quota of domains; deletions, and places in the ledger: of what was paid for when it was written",
  "api/oidc/service.ts": "asking the provider about members with a session: of the service",
  "api/reports/maker.ts": "reports that are due: `report_statistics`, and `ledger_bytes`",
  "api/reviews/service.ts":
    "comparing all links with lists of hosts, some a second: of the service",
  "redirector/failures/reporter.ts": "counts of failures: of the service",
  "redirector/http/server.ts": "connections that are idle: of the service",
  "redirector/journal/journal.ts": "writing clicks to disk: of the service",
  "redirector/journal/publisher.worker.ts": "sending clicks on: of the service",
  "redirector/limits/click-limits.ts": "uses of click limits: of the service",
  "redirector/limits/continuity.ts": "the position of their stream: of the service",
  "redirector/links/host-log.ts": "the store of links: of the service",
  "shared/lifecycle.ts": "the process's sign of life: of the service",
  "shared/stream-checks.ts": "the state of the streams: of the service",
  "worker/batches/batch-log.ts": "the worker's claim: of the service",
  "worker/consistency-check.ts": "a check of what was counted: of the service",
  "worker/consumer/consumer.ts": "clicks of all accounts in one order: of the service",
  "worker/counters.ts": "totals of links with new clicks, some at a time: of the service",
  "worker/disk-room.ts": "the room on the disk: of the service",
  "worker/events/recorder.ts": "events of clicks: `click_event_bytes`",
  "worker/webhooks/deliverer.ts":
    "deliveries: accounts take turns; `deliveries`, and `ledger_bytes` when they were caused",
};

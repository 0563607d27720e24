/**
 * Which bounds on input have a generator in the cost guard, and why the others have none. A new
 * bound has neither, and fails the test beside this file.
 */
import { CALL_PARTS, SCHEMA_BOUNDS } from "./calls.ts";
import type { Parts } from "./part.ts";
import { LINK_BOUNDS, VISITOR_PARTS } from "./visitors.ts";

const listReached = (parts: Parts): string[] =>
  Object.values(parts).flatMap((levels) => Object.values(levels).flatMap(({ reaches }) => reaches));

export const REACHED_BOUNDS: ReadonlySet<string> = new Set([
  ...listReached(VISITOR_PARTS),
  ...listReached(CALL_PARTS),
  ...SCHEMA_BOUNDS,
  ...LINK_BOUNDS,
]);

/** Sections of the page whose programs read no stranger's requests. */
export const OTHER_SECTIONS: Readonly<Record<string, string>> = {
  "Dashboard and client": "They run on the machine of the user who chose the input.",
  "Worker: receivers of webhooks":
    "Only the receiver of a webhook reaches them: worker/webhooks/post.test.ts does.",
  Setup: "It listens for an hour on a private address, and reads one line of each connection.",
  "Local stack": "Only the product's own processes reach it.",
};

const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Bounds that no single input reaches, or whose input costs nothing to speak of, by the reason. */
export const UNREACHED_BOUNDS: Readonly<Record<string, readonly string[]>> = {
  "counts what many connections or requests have together": lines(`
    redirector/config.ts CONNECTIONS_MAX
    redirector/open-files.ts OTHER_FILES_MAX
    redirector/http/open-connections.ts EVICTION_ATTEMPTS_MAX
    redirector/http/connection-caps.ts SITE_CONNECTIONS_FACTOR
    redirector/http/request-loop.ts REQUESTS_PER_TURN_MAX
    redirector/http/input-buffers.ts INPUT_BYTES_MAX
    redirector/http/input-buffers.ts PIPELINED_BYTES_MAX
    redirector/http/input-buffers.ts REQUEST_BYTES_MAX
    redirector/http/write-buffer.ts WRITE_BUFFER_BYTES
    redirector/visitors/lookups.ts IN_FLIGHT_MAX
    redirector/visitors/lookups.ts RUNNING_PER_NETWORK_MAX
    redirector/visitors/lookups.ts MISSES
    redirector/visitors/request-facts.ts NEW_AGENTS
    redirector/visitors/address-window.ts SITE_FACTOR
    redirector/passwords/password.ts CONCURRENT_MAX
    redirector/passwords/password.ts WAITING_MAX
    redirector/passwords/password.ts WAITING_PER_NETWORK_MAX
    redirector/passwords/password.ts TRIES
    redirector/passwords/password.ts LINK_TRIES
    redirector/passwords/password.ts VERIFICATIONS
    redirector/passwords/known-passwords.ts KNOWN_MAX
    redirector/limits/waiting.ts WAITING_MAX
    redirector/limits/reports.ts REPORTS_MAX
    redirector/limits/lease.ts LEASE_MAX
    redirector/links/slow-reads.ts READS_MAX
    redirector/failures/counts.ts ALIASES_PER_DOMAIN
    redirector/failures/reporter.ts REPORTS_MAX
    shared/contracts/failures.ts REPORTED_LINKS_MAX
    shared/contracts/failures.ts REPORTED_DOMAINS_MAX
    shared/contracts/failures.ts REPORTED_ALIASES_MAX
    shared/contracts/click-limits.ts ENTRIES_MAX
    shared/limited-log.ts LINES_PER_MINUTE
    api/limits/anonymous.ts KEYS_MAX
    api/limits/anonymous.ts SITE_FACTOR
    api/limits/anonymous.ts PASSWORD_TRIES
    api/limits/anonymous.ts PASSWORD_CHECKS
    api/limits/anonymous.ts REFUSED
    api/limits/work-budget.ts ACCOUNTS_MAX
    api/limits/changed-links.ts CHANGED_LINKS
    api/limits/link-passwords.ts LINK_PASSWORDS
    api/limits/tried-rules.ts TRIED_RULES
    api/limits/statistics-time.ts STATISTICS_TIME
    api/limits/listed-links.ts LISTED_LINKS
    api/limits/listed-links.ts SUMMED_LINK
    api/limits/tried-rules.ts READ_CONDITIONS
    api/auth/key-limits.ts READINGS
    api/auth/key-limits.ts REFUSALS
    api/auth/authorizer.ts REQUESTS_MAX
    api/auth/authorizer.ts KEYS_MAX
    api/auth/authorizer.ts QUERIES_MAX
    api/sessions/session-auth.ts SESSION_LIMIT
    api/sessions/attempts.ts address
    api/sessions/attempts.ts site
    api/sessions/attempts.ts "e-mail address from here"
    api/sessions/attempts.ts email
    api/sessions/attempts.ts device
    api/sessions/attempts.ts CORRECT_PASSWORDS
    api/passwords/hashing.ts HASHES_RUNNING_MAX
    api/passwords/hashing.ts urgentWaitingMax
    api/passwords/hashing.ts fairWaitingMax
    api/passwords/hashing.ts fairWaitingPerKeyMax
    api/shares/service.ts SHARES_MAX
    api/views/service.ts VIEWS_MAX
    api/webhooks/service.ts WEBHOOKS_MAX
    api/reports/service.ts REPORTS_MAX
    api/reports/service.ts RUNS_LISTED
    api/limits/requested-reports.ts REQUESTED_REPORTS
    api/mail/queue.ts SENDING_MAX
    api/webhooks/mails-sql.ts ADDED_MAX
    api/reports/due.ts DUE_MAX
    api/reports/due.ts RUNNING_MAX
    api/events/waits.ts WAITS_PER_ACCOUNT
    api/events/waits.ts WAITS_MAX
    api/events/service.ts NUMBERINGS_MAX
    api/shares/reading.ts READS
    api/shares/read-budget.ts SAVED_MAX
    api/shares/read-budget.ts EARNED_PER_MINUTE
    api/branding/logo.ts ENCODING
     api/links/qr/draw.ts DRAWING
    api/clicks/running-exports.ts EXPORTS_MAX
    api/clicks/running-exports.ts bytesPerSecond
    api/clickhouse.ts QUERIES
    api/analytics/live.ts STREAMS_MAX
    api/analytics/click-poller.ts POLLS_PER_SECOND_MAX
    api/links/upsert-link.ts ATTEMPTS_MAX
    api/feed/link-publisher.ts RELAY_BATCH
    api/feed/feed-streams.ts PUBLISH_RACES_MAX
    worker/failures/intake.ts IN_FLIGHT_MAX
  `),
  "is the memory of a cache or a store, or how it keeps an entry": lines(`
    redirector/config.ts CACHE_BYTES_MAX
    redirector/config.ts JOURNAL_BYTES_MAX
    redirector/config.ts CLICKS_BYTES_MAX
    redirector/redirect/hosts.ts HOSTS_MAX
    redirector/visitors/request-facts.ts AGENTS_MAX
    redirector/visitors/request-facts.ts SOURCES_MAX
    redirector/visitors/request-facts.ts LANGUAGES_MAX
    redirector/visitors/request-facts.ts KEPT_LANGUAGE_LENGTH_MAX
    redirector/pages/error-pages.ts LANGUAGES_MAX
    redirector/cache/settings-cache.ts SETTINGS_BYTES_MAX
    redirector/cache/domain-settings.ts DOMAINS_MAX
    redirector/cache/domain-settings.ts SETTINGS_BYTES_MAX
    redirector/links/store-writer.ts CHANGES_KEPT
    redirector/journal/publisher.ts IN_FLIGHT_MAX
    redirector/journal/retention.ts ACKED_RETENTION_BYTES_MAX
    redirector/journal/retention.ts RETENTION_SHARE
    redirector/journal/free-files.ts FREE_FILES_MAX
    redirector/limits/holdings.ts REMEMBERED_MAX
    shared/decision/local-time.ts ZONES_MAX
    shared/decision/conditions.ts SHARED_BYTES_MAX
    shared/decision/conditions.ts SHARED_LENGTH_MAX
    shared/contracts/redirect-settings-checks.ts ZONES_MAX
    shared/contracts/click-segment.ts SEGMENT_CLICKS_MAX
    shared/contracts/click-segment.ts SEGMENT_BYTES_MAX
    shared/contracts/streams.ts CLICKS_TRIMMED_AT
    shared/contracts/streams.ts CLICKS_MAX_AGE_HOURS
    shared/visitors/geo.ts LOCATIONS_MAX
    api/auth/api-key-auth.ts VERIFIED_MS
    api/auth/api-key-auth.ts VERIFIED_MAX
    api/auth/rejection-cache.ts KEYS_MAX
    api/shares/reading.ts FIGURES_MAX
    api/shares/read-budget.ts SHARES_MAX
    api/shares/reading.ts FRESH_MS
    worker/enrich/rows.ts CACHE_ENTRIES_MAX
    worker/migrations/retention.ts ALIASES_DAYS_MAX
  `),
  "is a time": lines(`
    api/webhooks/mails-sql.ts REPEATED_SECONDS
    redirector/http/turn.ts TURN_MS
    shared/turns.ts TURN_MS
    shared/backlog.ts LATE_MS
    shared/backlog.ts STANDING_MS
    redirector/http/waiting-turns.ts WAITING_MS
    redirector/http/connection.ts REQUEST_SECONDS
    redirector/http/connection.ts RESPONSE_SECONDS
    redirector/http/connection.ts IDLE_SECONDS
    redirector/http/connection.ts LINGER_SECONDS
    redirector/links/catch-up.ts CATCH_UP_TIMEOUT_MS
    redirector/links/memory-updates.ts TURN_MS
    redirector/limits/waiting.ts WAIT_MS
    worker/enrich/rows.ts TURN_MS
    api/http/site-server.ts idleTimeout
    api/events/model.ts WAIT_SECONDS_MAX
    api/events/positions.ts NUMBERING_MS_MAX
    api/http/json-body.ts BODY_MS_MAX
    api/http/chunk-stream.ts STALLED_MS
    api/clicks/running-exports.ts lateMs
    api/analytics/live-stream.ts DURATION_MS
    api/limits/stream-leases.ts LEASE_SECONDS
    api/domains/dns.ts TIMEOUT_MS
    api/domains/dns.ts TRIES
    api/clickhouse.ts QUERY_TIMEOUT_MS
    api/clickhouse.ts EXECUTION_SECONDS_MAX
    api/postgres.ts STATEMENT_TIMEOUT_MS
  `),
  "is about what the operator sets or the product itself sends": lines(`
    redirector/http/response.ts PAGE_BYTES_MAX
    api/events/service.ts EXAMINED_MAX
    api/events/service.ts PAGE_BYTES_MAX
    api/links/notices.ts EXPIRED_MAX
    api/links/notices.ts CHECKED_MAX
    api/links/notices.ts READS_AT_ONCE
    api/maintenance/events.ts BATCH
    api/maintenance/events.ts DELETED_MAX
    worker/events/click-events.ts CLICKS_MAX
    worker/events/recorder.ts WAITING_BYTES_MAX
    worker/events/recorder.ts READERS_MAX
    worker/events/recorder.ts BATCHES_AT_ONCE
    worker/events/recorder.ts EVENTS_AT_ONCE
    redirector/http/response-writer.ts RESPONSE_BYTES_MAX
    redirector/pages/template.ts STYLES_MAX
    redirector/http/proxy-protocol.ts LINE_BYTES_MAX
    redirector/http/proxy-protocol.ts REST_BYTES_MAX
    shared/limited-log.ts FRAMES_MAX
    shared/contracts/failures.ts DOMAIN_LENGTH_MAX
    shared/contracts/member-checks.ts LIST_LENGTH_MAX
    shared/contracts/link-record.ts DOMAIN_LENGTH_MAX
    shared/contracts/link-record.ts ALIAS_LENGTH_MAX
    shared/contracts/link-record.ts MESSAGE_OVERHEAD_BYTES
    redirector/links/feed-consumer.ts PULL_BATCH
    redirector/links/feed-consumer.ts TRANSACTION_CHANGES_MAX
    redirector/links/memory-updates.ts CHANGES_AT_ONCE
    worker/batches/collector.ts ROWS_MAX
    worker/batches/collector.ts SEGMENTS_MAX
    worker/batches/collector.ts BYTES_MAX
    worker/consumer/owner-loop.ts FETCH_MAX
    worker/batches/stream.ts ACK_PENDING_MAX
    worker/batches/segment-index.ts RANGES_MAX
    worker/batches/owner.ts OPEN_MAX
    worker/batches/repair.ts SUSPECTED_MAX
    worker/consumer/acknowledger.ts REASON_LENGTH_MAX
    worker/counters.ts BATCH
  `),
  "is more than a valid value needs, and what exceeds it is rejected unread": lines(`
    shared/contracts/branding-schemas.ts LOGO_BYTES_MAX
    shared/contracts/branding-schemas.ts LOGO_LENGTH_MAX
  `),
  "is about stored data, which the benchmarks measure": lines(`
    api/analytics/targets.ts TARGETS_MAX
    api/analytics/backtest/backtest.ts CLICKS_MAX
    api/analytics/link-totals.ts LINKS_MAX
    api/analytics/model.ts RESULTS_MAX
    api/analytics/period.ts SPAN_YEARS_MAX
    api/analytics/live-stream.ts BUFFER_BYTES
    api/analytics/live-stream.ts PENDING_CLICKS_MAX
    api/analytics/live-rows.ts ROWS_MAX
    api/clickhouse.ts QUERY_BYTES_MAX
    api/clicks/model.ts PAGE_MAX
    api/clicks/export.ts FIRST_PART_ROWS
    api/clicks/export.ts PART_ROWS
    api/clicks/export.ts GROUP_LINKS
    api/clicks/export.ts LOOKUP_LINKS
    api/shares/reading.ts ROWS_MAX
    api/shares/reading.ts COUNTRIES_MAX
    api/shares/public/statistics-view.tsx TITLED_POINTS_MAX
    api/branding/logo.ts STORED_BYTES_MAX
    api/domains/republishing.ts SWITCHED_LINKS_MAX
    api/domains/republishing.ts COLLISIONS_NAMED_MAX
    api/links/lookups.ts SELECTED_LINKS_MAX
    api/links/known-domains.ts NAMED_MAX
    api/links/alias.ts COLLISIONS_MAX
    api/links/listing/list-links.ts EXAMINED_MAX
    api/links/listing/list-links.ts SORTED_MATCHES_MAX
    api/tags/service.ts CHANGED_MAX
    api/tags/service.ts BATCH
    api/tags/listing.ts EXAMINED_MAX
    api/tags/listing.ts SUMMED_LINKS_MAX
    api/links/settings/urls.ts LOOKUPS_MAX
    api/sessions/sql.ts USERS_OF_ADDRESS_MAX
    shared/decision/targets.ts ACTUAL_LENGTH_MAX
  `),
  "is a number or a text of a few hundred characters, and is only compared, stored or hashed":
    lines(`
    redirector/http/request-line.ts METHOD_LENGTH_MAX
    shared/contracts/alias.ts ALIAS_PATTERN
    shared/contracts/link-settings.ts MAX_CLICKS
    shared/contracts/link-split.ts ID_LENGTH_MAX
    shared/contracts/link-rules.ts ID_LENGTH_MAX
    shared/contracts/link-rules.ts LANGUAGE_LENGTH_MAX
    shared/contracts/link-schemas.ts LINK_PASSWORD_LENGTH_MAX
    shared/contracts/link-schemas.ts EXTERNAL_ID_LENGTH_MAX
    shared/contracts/share-schemas.ts PASSWORD_LENGTH
    shared/contracts/link-schemas.ts BULK_PASSWORDS_MAX
    shared/contracts/key-schemas.ts GRACE_SECONDS_MAX
    shared/contracts/share-schemas.ts ORIGIN_LENGTH_MAX
    shared/contracts/users.ts EMAIL_LENGTH_MAX
    shared/contracts/view-schemas.ts NAME_LENGTH_MAX
    shared/contracts/webhook-schemas.ts URL_LENGTH_MAX
    shared/contracts/webhook-schemas.ts DESCRIPTION_LENGTH_MAX
    shared/contracts/webhook-schemas.ts HOST_LENGTH_MAX
    shared/contracts/webhook-schemas.ts ID_LENGTH_MAX
    api/reports/model.ts ID_LENGTH_MAX
    api/reports/model.ts RECIPIENTS_MAX
    shared/contracts/report-schemas.ts NAME_LENGTH_MAX
    api/reports/unsubscribe/routes.ts TOKEN_LENGTH_MAX
    api/webhooks/compose-mail.ts HOST_LENGTH_MAX
    api/webhooks/compose-mail.ts RECEIVER_LENGTH_MAX
    api/analytics/period-parameters.ts TEXT_LENGTH_MAX
    api/shares/model.ts FORM_TEXT_LENGTH_MAX
    api/domains/host.ts HOST_LENGTH_MAX
    api/http/pagination.ts PAGE_MAX
    api/http/pagination.ts PAGE_SIZE_MAX
    api/http/pagination.ts CURSOR_LENGTH_MAX
    api/links/model.ts HOST_LENGTH_MAX
    api/links/model.ts ALIAS_LENGTH_MAX
    api/sessions/password-strength.ts SCORED_LENGTH_MAX
  `),
};

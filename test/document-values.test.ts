/**
 * Goal: numbers in documents are those of the code. Method: each row has words of a page, and the
 * constant whose value they state. Bounds on input have a page and a test of their own
 * (`input-bounds.test.ts`).
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

type Value = readonly [page: string, words: string, file: string, constant: string];

const VALUES: readonly Value[] = [
  [
    "architecture",
    "2 s at most, before it responds",
    "api/feed/feed-streams",
    "PUBLISH_TIMEOUT_MS = 2_000",
  ],
  ["architecture", "compare the two every 2 s", "api/feed/feed-watch", "INTERVAL_MS = 2_000"],
  [
    "architecture",
    "reach their memory within 20 ms",
    "redirector/links/host-links",
    "POLL_MS = 20",
  ],
  ["architecture", "NATS has been away for 10 s", "redirector/links/catch-up", "AWAY_MS = 10_000"],
  ["architecture", "newest 500 links", "api/links/listing/list-links", "SAMPLE = 500"],
  [
    "architecture",
    "Up to 10,000 matches",
    "api/links/listing/list-links",
    "SORTED_MATCHES_MAX = 10_000",
  ],
  ["architecture", "in transactions of 1,000 links", "api/tags/service", "BATCH = 1_000"],
  ["architecture", "at most 10,000 in a request", "api/tags/service", "CHANGED_MAX = 10_000"],
  [
    "architecture",
    "sealed at 2,000 clicks",
    "shared/contracts/click-segment",
    "SEGMENT_CLICKS_MAX = 2_000",
  ],
  [
    "architecture",
    "768 KiB or 250 ms",
    "shared/contracts/click-segment",
    "SEGMENT_BYTES_MAX = 768 * 1024",
  ],
  ["architecture", "768 KiB or 250 ms", "redirector/journal/journal", "SEGMENT_AGE_MAX_MS = 250"],
  [
    "architecture",
    "file 150 s after JetStream",
    "redirector/journal/retention",
    "ACKED_RETENTION_MS = 150_000",
  ],
  [
    "architecture",
    "stream `CLICKS` for 72 hours",
    "shared/contracts/streams",
    "CLICKS_MAX_AGE_HOURS = 72",
  ],
  [
    "architecture",
    "an age under 12 hours",
    "shared/contracts/streams",
    "CLICKS_AGE_HOURS_MIN = 12",
  ],
  [
    "architecture",
    "holds a lease in PostgreSQL for 15 seconds",
    "api/limits/stream-leases",
    "LEASE_SECONDS = 15",
  ],
  [
    "architecture",
    "50 times per second at most",
    "api/analytics/click-poller",
    "POLLS_PER_SECOND_MAX = 50",
  ],
  ["architecture", "It serves 300 streams at most", "api/analytics/live", "STREAMS_MAX = 300"],
  [
    "architecture",
    "client is 256 KiB behind",
    "api/analytics/live-stream",
    "BUFFER_BYTES = 256 * 1024",
  ],
  [
    "architecture",
    "connection gets at most 32 responses per turn",
    "redirector/http/request-loop",
    "REQUESTS_PER_TURN_MAX = 32",
  ],
  ["architecture", "once the turn has taken 5 ms", "redirector/http/turn", "TURN_MS = 5"],
  [
    "architecture",
    "take 5 s, and a connection may be idle for 60 s",
    "redirector/http/connection",
    "REQUEST_SECONDS = 5",
  ],
  [
    "architecture",
    "take 5 s, and a connection may be idle for 60 s",
    "redirector/http/connection",
    "IDLE_SECONDS = 60",
  ],
  [
    "architecture",
    "PostgreSQL statement takes 5 s at most",
    "api/postgres",
    "STATEMENT_TIMEOUT_MS = 5_000",
  ],
  [
    "architecture",
    "ClickHouse query 10 s and 2 GiB",
    "api/clickhouse",
    "QUERY_TIMEOUT_MS = 10_000",
  ],
  [
    "architecture",
    "ClickHouse query 10 s and 2 GiB",
    "api/clickhouse",
    "QUERY_BYTES_MAX = 2 * 1024 ** 3",
  ],
  ["analytics", "fewer than 50,000 clicks", "api/analytics/sources", "LOW_VOLUME_CLICKS = 50_000"],
  [
    "analytics",
    "Up to a million clicks",
    "api/analytics/sources",
    "ANALYTICS_EXACT_CLICKS_MAX = 1_000_000",
  ],
  [
    "analytics",
    "exact up to 10,000 clicks",
    "worker/counters",
    "COUNTERS_EXACT_CLICKS_MAX = 10_000",
  ],
  [
    "analytics",
    "latest 1,000 clicks that it missed",
    "api/analytics/live-rows",
    "ROWS_MAX = 1_000",
  ],
  ["analytics", "at most 100 values", "api/analytics/filter-parameters", "FILTER_VALUES_MAX = 100"],
  ["analytics", "20 requests in a row", "api/shares/read-budget", "SAVED_MAX = 20"],
  ["analytics", "valid for an hour", "api/shares/token", "ACCESS_SECONDS = 3_600"],
  ["analytics", "5,000 clicks at first", "api/clicks/export", "FIRST_PART_ROWS = 5_000"],
  ["analytics", "up to 100,000. Each part", "api/clicks/export", "PART_ROWS = 100_000"],
  ["analytics", "at most three exports at once", "api/clicks/running-exports", "EXPORTS_MAX = 3"],
  ["batches", "at most 60,000 clicks", "worker/batches/collector", "ROWS_MAX = 60_000"],
  ["batches", "2,000 segments and 16 MiB", "worker/batches/collector", "SEGMENTS_MAX = 2_000"],
  [
    "batches",
    "2,000 segments and 16 MiB",
    "worker/batches/collector",
    "BYTES_MAX = 16 * 1024 ** 2",
  ],
  ["batches", "waited for 300 ms", "worker/batches/collector", "AGE_MS = 300"],
  ["batches", "at least a second ago", "worker/batches/collector", "INTERVAL_MS = 1_000"],
  ["batches", "fetched segments for three seconds", "worker/batches/election", "QUIET_MS = 3_000"],
  ["batches", "older than six seconds", "worker/batches/renewal", "RENEWED_MS = 6_000"],
  ["batches", "at most 100,000 ranges", "worker/batches/segment-index", "RANGES_MAX = 100_000"],
  ["clicks", "more than 10 million clicks", "shared/clicks/pieces", "PIECE_CLICKS = 10_000_000"],
  ["clicks", "for 100 links or accounts at a time", "shared/clicks/pieces", "SUBJECTS_MAX = 100"],
  ["clicks", "of a repair after 25 s", "shared/clicks/rollups", "STATEMENT_SECONDS_MAX = 25"],
  ["clicks", "may take 5 minutes", "shared/clicks/pieces", "COMPARISON_SECONDS_MAX = 300"],
  ["clicks", "last two days", "worker/consistency-check", "CHECKED_HOURS = 48"],
  [
    "clicks",
    "retain segments for 150 s",
    "redirector/journal/retention",
    "ACKED_RETENTION_MS = 150_000",
  ],
  ["links-that-decide", "up to 20 rules", "shared/contracts/link-rules", "RULES_MAX = 20"],
  [
    "links-that-decide",
    "up to 10 `conditions`",
    "shared/contracts/link-rules",
    "CONDITIONS_MAX = 10",
  ],
  ["links-that-decide", "1 to 50 values", "shared/contracts/link-rules", "VALUES_MAX = 50"],
  [
    "links-that-decide",
    "up to 1,000 values together",
    "shared/contracts/link-rules",
    "LINK_VALUES_MAX = 1_000",
  ],
  ["links-that-decide", "up to 10 arms", "shared/contracts/link-split", "ARMS_MAX = 10"],
  ["links-that-decide", "never more than 1,000", "redirector/limits/lease", "LEASE_MAX = 1_000"],
  [
    "links-that-decide",
    "After a minute of silence",
    "redirector/limits/lease",
    "GONE_SECONDS = 60",
  ],
  ["dashboard", "at most eight", "api/sessions/sql", "USERS_OF_ADDRESS_MAX = 8"],
  ["dashboard", "up to 100 for each mode", "api/views/service", "VIEWS_MAX = 100"],
  ["dashboard", "300 tags with the most links", "dashboard/src/data/tags", "KNOWN_TAGS_MAX = 300"],
  [
    "dashboard",
    "100 links in a request (10 with a password)",
    "shared/contracts/link-schemas",
    "BULK_LINKS_MAX = 100",
  ],
  [
    "dashboard",
    "100 links in a request (10 with a password)",
    "shared/contracts/link-schemas",
    "BULK_PASSWORDS_MAX = 10",
  ],
];

const read = (path: string): string =>
  readFileSync(join(ROOT, path), "utf8").replaceAll(/\s+/g, " ");

test("numbers that documents state are those of the code", () => {
  const wrong = VALUES.filter(
    ([page, words, file, constant]) =>
      !read(`docs/${page}.md`).includes(words) ||
      !read(`${file}.ts`).includes(`const ${constant};`),
  );
  expect(wrong).toEqual([]);
});

test("the quotas of plans are those that the migration sets", () => {
  const rows = [
    ...read("api/migrations/0007_quotas.sql").matchAll(/\('(\w+)', '(\w+)', (\d+)\)/g),
  ].map(([, plan = "", quota = "", allowed]) => ({ plan, quota, allowed: Number(allowed) }));
  const documented = readFileSync(join(ROOT, "docs/architecture.md"), "utf8")
    .split("\n")
    .filter((line) => /^\| (?:links|invitations|domains|API keys|concurrent)/.test(line))
    .flatMap((line) =>
      line
        .split("|")
        .slice(2, 6)
        .map((cell) => Number(cell.replace("or own", "").replaceAll(",", "").trim())),
    );
  const quotas = [...new Set(rows.map(({ quota }) => quota))];
  const plans = ["free", "pro", "business", "enterprise"];
  const set = quotas.flatMap((quota) =>
    plans.map((plan) => rows.find((row) => row.plan === plan && row.quota === quota)?.allowed),
  );
  expect(documented).toHaveLength(20);
  // Both are in one order: quotas, and the plans of each.
  expect<(number | undefined)[]>(documented).toEqual(set);
});

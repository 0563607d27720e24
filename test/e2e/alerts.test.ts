/**
 * Goal: each alert fires for what it is about, and not for what is just well. Method: Prometheus
 * itself evaluates the rules on series that are made for each (`promtool test rules`).
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { findPromtool } from "../harness/prometheus.ts";
import { longTest } from "../harness/property-runs.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const RULES = join(PROJECT_DIR, "deploy/monitoring/alerts.yaml");

/**
 * How long the series last: longer than any rule looks back, and than any waits before it fires.
 */
const MINUTES = 130;

/** A series and its values, one a minute, in promtool's notation. */
type Series = readonly [series: string, values: string];

type Case = {
  alert: string;
  /** Series for which it fires, with these labels and the summary for people. */
  wrong: readonly Series[];
  labels: Record<string, string>;
  summary: string;
  /** Series for which it does not. */
  well: readonly Series[];
};

const HOST = 'instance="a:1"';
const always = (value: number): string => `${value}x${MINUTES}`;
const growing = (perMinute: number): string => `0+${perMinute}x${MINUTES}`;

const gauge = (
  alert: string,
  name: string,
  wrong: number,
  well: number,
  summary: string,
): Case => ({
  alert,
  wrong: [[`${name}{${HOST}}`, always(wrong)]],
  labels: { instance: "a:1" },
  summary,
  well: [[`${name}{${HOST}}`, always(well)]],
});

/** A counter by reason: wrong when it grows by so much a minute. */
const counter = (
  alert: string,
  name: string,
  [label, value]: readonly [string, string],
  [wrong, well]: readonly [number, number],
  summary: string,
): Case => {
  const series = `${name}{${HOST},${label}="${value}"}`;
  return {
    alert,
    wrong: [[series, growing(wrong)]],
    labels: { instance: "a:1", ...(label === "reason" ? { reason: value } : {}) },
    summary,
    well: [[series, growing(well)]],
  };
};

const JOBS = ["api", "redirector", "worker"].map((name) => `shorthop-${name}`);

const duration = (le: string, perMinute: number): Series => [
  `shorthop_redirector_http_request_duration_seconds_bucket{${HOST},le="${le}"}`,
  growing(perMinute),
];
const requests: Series = [
  `shorthop_redirector_http_request_duration_seconds_count{${HOST}}`,
  growing(6_000),
];
const answers = (status: number, perMinute: number): Series => [
  `shorthop_api_http_request_duration_seconds_count{status="${status}"}`,
  growing(perMinute),
];
const worker = (lag: number, owner: number): Series[] => [
  ["shorthop_worker_clicks_lag_seconds", always(lag)],
  ["shorthop_worker_owner", always(owner)],
];
/** A time so many seconds before the end of the series, at which the rules are evaluated. */
const ago = (seconds: number): string => always(MINUTES * 60 - seconds);

/** A disk of which so many hundredths are left. */
const disk = (left: number): Series[] => [
  [`shorthop_doctor_disk_free_bytes{${HOST},path="/var/lib"}`, always(left)],
  [`shorthop_doctor_disk_size_bytes{${HOST},path="/var/lib"}`, always(100)],
];

const EXPIRY = `shorthop_doctor_certificate_expiry_timestamp_seconds{${HOST},path="/tls/cert.pem"}`;

const CASES: readonly Case[] = [
  {
    alert: "ShorthopProcessDown",
    wrong: [[`up{job="shorthop-api",${HOST}}`, always(0)]],
    labels: { job: "shorthop-api", instance: "a:1" },
    summary: "shorthop-api on a:1 does not respond",
    well: [[`up{job="shorthop-api",${HOST}}`, always(1)]],
  },
  {
    alert: "ShorthopJobAbsent",
    wrong: JOBS.slice(1).map((job): Series => [`up{job="${job}"}`, always(1)]),
    labels: { job: "shorthop-api" },
    summary: "Prometheus has no target of shorthop-api",
    well: JOBS.map((job): Series => [`up{job="${job}"}`, always(1)]),
  },
  {
    alert: "ShorthopNotReady",
    wrong: [[`shorthop_ready{job="shorthop-api",${HOST},part="postgres"}`, always(0)]],
    labels: { job: "shorthop-api", instance: "a:1", part: "postgres" },
    summary: "shorthop-api on a:1 is not ready: postgres",
    well: [[`shorthop_ready{job="shorthop-api",${HOST},part="postgres"}`, always(1)]],
  },
  {
    alert: "ShorthopWarning",
    wrong: [[`shorthop_warning{job="shorthop-api",${HOST},part="postgres"}`, always(1)]],
    labels: { job: "shorthop-api", instance: "a:1", part: "postgres" },
    summary: "shorthop-api on a:1 warns of postgres: shorthop doctor on that host says why",
    // Of this, ShorthopOutboxOld tells.
    well: [
      [`shorthop_warning{job="shorthop-api",${HOST},part="postgres"}`, always(0)],
      [`shorthop_warning{job="shorthop-api",${HOST},part="outbox"}`, always(1)],
    ],
  },
  {
    alert: "ShorthopStreamDamaged",
    wrong: [[`shorthop_warning{job="shorthop-api",${HOST},part="streams"}`, always(1)]],
    labels: {},
    summary:
      "NATS returns nothing of what it accepts, so clicks are lost: shorthop doctor on a host of the API says which stream",
    well: [
      [`shorthop_warning{job="shorthop-api",${HOST},part="streams"}`, always(0)],
      [`shorthop_warning{job="shorthop-api",${HOST},part="postgres"}`, always(1)],
    ],
  },
  {
    alert: "ShorthopEventLoopStalled",
    wrong: [[`shorthop_event_loop_stall_max_seconds{job="shorthop-api",${HOST}}`, always(0.75)]],
    labels: { job: "shorthop-api", instance: "a:1" },
    summary: "shorthop-api on a:1 stalled for 0.8 s",
    well: [[`shorthop_event_loop_stall_max_seconds{job="shorthop-api",${HOST}}`, always(0.3)]],
  },
  {
    alert: "ShorthopRepliesRefused",
    wrong: [[`shorthop_worker_replies_refused_total{${HOST}}`, growing(1)]],
    labels: { instance: "a:1" },
    summary: "a:1 was asked over NATS to reply where it must not",
    well: [[`shorthop_worker_replies_refused_total{${HOST}}`, always(7)]],
  },
  {
    alert: "ShorthopSlowRedirects",
    wrong: [duration("0.1", 5_800), duration("0.25", 6_000), duration("+Inf", 6_000), requests],
    labels: { instance: "a:1" },
    summary: "one in a hundred responses of a:1 takes 0.20 s or longer",
    well: [duration("0.1", 6_000), duration("0.25", 6_000), duration("+Inf", 6_000), requests],
  },
  gauge(
    "ShorthopFeedBehind",
    "shorthop_redirector_feed_lag_messages",
    1_001,
    1_000,
    "a:1 is 1001 link changes behind",
  ),
  gauge(
    "ShorthopFeedStale",
    "shorthop_redirector_feed_age_seconds",
    31,
    8,
    "a:1 has had no word of the links log for 31 s",
  ),
  {
    alert: "ShorthopFeedIncomplete",
    wrong: [[`shorthop_redirector_feed_complete{${HOST}}`, always(0)]],
    labels: { instance: "a:1" },
    summary:
      "a:1 lacks links, and takes a snapshot: shorthop doctor on that host says what is in its way",
    well: [[`shorthop_redirector_feed_complete{${HOST}}`, always(1)]],
  },
  {
    alert: "ShorthopLinksSnapshotOld",
    wrong: [["shorthop_api_links_snapshot_timestamp_seconds", ago(3 * 86_400)]],
    labels: {},
    summary: "no snapshot of the links was made for two days",
    well: [["shorthop_api_links_snapshot_timestamp_seconds", ago(86_400)]],
  },
  counter(
    "ShorthopFeedRecordSkipped",
    "shorthop_redirector_feed_records_skipped_total",
    ["reason", "malformed"],
    [1, 0],
    "a:1 skipped a state of the links log: malformed",
  ),
  counter(
    "ShorthopScan",
    "shorthop_redirector_lookups_total",
    ["outcome", "rate_limited"],
    [3_600, 600],
    "clients of a:1 request many aliases that do not exist",
  ),
  counter(
    "ShorthopConnectionsRejected",
    "shorthop_redirector_connections_rejected_total",
    ["reason", "full"],
    [120, 6],
    "a:1 rejects connections: full",
  ),
  counter(
    "ShorthopConnectionErrors",
    "shorthop_redirector_connection_errors_total",
    ["reason", "handler"],
    [1, 0],
    "an error in a:1 closed connections: handler",
  ),
  counter(
    "ShorthopClicksDropped",
    "shorthop_redirector_clicks_dropped_total",
    ["reason", "journal_full"],
    [60, 0],
    "a:1 loses clicks: journal_full",
  ),
  {
    alert: "ShorthopJournalFilling",
    wrong: [
      [`shorthop_redirector_journal_bytes{${HOST}}`, always(51)],
      [`shorthop_redirector_journal_max_bytes{${HOST}}`, always(100)],
    ],
    labels: { instance: "a:1" },
    summary: "the journal of a:1 is half full: clicks do not reach NATS",
    well: [
      [`shorthop_redirector_journal_bytes{${HOST}}`, always(40)],
      [`shorthop_redirector_journal_max_bytes{${HOST}}`, always(100)],
    ],
  },
  gauge(
    "ShorthopSegmentsQuarantined",
    "shorthop_redirector_quarantined_segments",
    2,
    0,
    "a:1 has 2 segments that it cannot read",
  ),
  {
    alert: "ShorthopClicksLag",
    wrong: worker(61, 1),
    labels: {},
    summary: "clicks are stored late, or by no worker",
    well: worker(2, 1),
  },
  counter(
    "ShorthopDeadLetters",
    "shorthop_worker_segments_total",
    ["outcome", "dead_lettered"],
    [1, 0],
    "ClickHouse rejected segments, which are in the dead-letter queue",
  ),
  {
    alert: "ShorthopRollupsDiffer",
    wrong: [["shorthop_worker_rollup_differences_total", growing(1)]],
    labels: {},
    summary: "a consistency check rebuilt rollups that differed from their clicks",
    well: [["shorthop_worker_rollup_differences_total", always(12)]],
  },
  {
    alert: "ShorthopCountersNotWritten",
    wrong: [["shorthop_worker_counters_written_timestamp_seconds", ago(420)]],
    labels: {},
    summary: "clicks shown on links are 7m 0s old",
    well: [["shorthop_worker_counters_written_timestamp_seconds", ago(60)]],
  },
  gauge(
    "ShorthopClickEventsLate",
    "shorthop_worker_click_event_batches_pending",
    40,
    2,
    "the events of 40 batches of clicks wait on a:1",
  ),
  {
    alert: "ShorthopOldGeoData",
    wrong: [[`shorthop_worker_geoip_built_timestamp_seconds{${HOST}}`, ago(61 * 86_400)]],
    labels: { instance: "a:1" },
    summary: "a GeoIP database of a:1 is older than 60 days",
    well: [[`shorthop_worker_geoip_built_timestamp_seconds{${HOST}}`, ago(59 * 86_400)]],
  },
  {
    alert: "ShorthopWebhooksLate",
    wrong: [["shorthop_api_webhooks_lag_seconds", always(90)]],
    labels: {},
    summary: "an event has waited for a webhook for 1m 30s",
    well: [["shorthop_api_webhooks_lag_seconds", always(30)]],
  },
  {
    alert: "ShorthopApiErrors",
    wrong: [answers(200, 950), answers(503, 50)],
    labels: {},
    summary: "5% of API requests fail",
    well: [answers(200, 995), answers(503, 5)],
  },
  {
    alert: "ShorthopOutboxOld",
    wrong: [["shorthop_api_outbox_oldest_timestamp_seconds", ago(900)]],
    labels: {},
    summary: "a change of a link has not reached redirectors for 15m 0s",
    well: [["shorthop_api_outbox_oldest_timestamp_seconds", ago(10)]],
  },
  {
    alert: "ShorthopMailsLate",
    wrong: [[`shorthop_api_mails_delay_seconds{${HOST}}`, always(5_400)]],
    labels: {},
    summary: "a mail has waited for 1h 30m 0s",
    well: [[`shorthop_api_mails_delay_seconds{${HOST}}`, always(600)]],
  },
  {
    alert: "ShorthopOutboxGrowing",
    wrong: [["shorthop_api_outbox_pending", growing(100)]],
    labels: {},
    summary: "13000 changes of links are pending, and their number grows",
    well: [["shorthop_api_outbox_pending", always(5_000)]],
  },
  {
    alert: "ShorthopBackupOld",
    wrong: [["shorthop_api_backup_timestamp_seconds", ago(3 * 86_400)]],
    labels: {},
    summary: "the newest backup is 3d 0h 0m 0s old",
    well: [["shorthop_api_backup_timestamp_seconds", ago(86_400)]],
  },
  {
    alert: "ShorthopBackupUnproven",
    wrong: [
      ["shorthop_api_backup_timestamp_seconds", ago(3_600)],
      ["shorthop_api_backup_proven_timestamp_seconds", ago(10 * 86_400)],
    ],
    labels: {},
    summary: "no backup of the last nine days was restored by a drill",
    well: [
      ["shorthop_api_backup_timestamp_seconds", ago(3_600)],
      ["shorthop_api_backup_proven_timestamp_seconds", ago(8 * 86_400)],
    ],
  },
  {
    alert: "ShorthopDoctorFailed",
    wrong: [[`shorthop_doctor_status{${HOST},subject="api",check="clock"}`, always(2)]],
    labels: { instance: "a:1", subject: "api", check: "clock" },
    summary: "a check of api on a:1 fails: clock",
    well: [[`shorthop_doctor_status{${HOST},subject="api",check="clock"}`, always(1)]],
  },
  {
    alert: "ShorthopDoctorOld",
    wrong: [[`shorthop_doctor_timestamp_seconds{${HOST}}`, ago(4 * 3_600)]],
    labels: { instance: "a:1" },
    summary: "the checks of a:1 have not run for 4h 0m 0s",
    well: [[`shorthop_doctor_timestamp_seconds{${HOST}}`, ago(3_600)]],
  },
  {
    alert: "ShorthopDiskFilling",
    wrong: disk(9),
    labels: { instance: "a:1", path: "/var/lib" },
    summary: "the disk of /var/lib on a:1 has 9% left",
    well: disk(10),
  },
  {
    alert: "ShorthopCertificateExpires",
    wrong: [[EXPIRY, ago(-13 * 86_400)]],
    labels: { instance: "a:1", path: "/tls/cert.pem" },
    summary: "/tls/cert.pem on a:1 expires in 13d 0h 0m 0s",
    well: [[EXPIRY, ago(-15 * 86_400)]],
  },
];

const promtool = await findPromtool();

const rules = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(z.object({ alert: z.string(), labels: z.record(z.string(), z.string()) })),
      }),
    ),
  })
  .parse(Bun.YAML.parse(await Bun.file(RULES).text()))
  .groups.flatMap((group) => group.rules);

/** A test of promtool: these series, and whether the alert fires at their end. */
function toTest({ alert, labels, summary }: Case, series: readonly Series[], fires: boolean) {
  const { labels: own = {} } = rules.find((rule) => rule.alert === alert) ?? {};
  const runbook = `docs/runbook.md#${alert.toLowerCase()}`;
  const expected = { exp_labels: { ...labels, ...own }, exp_annotations: { summary, runbook } };
  return {
    name: `${alert} ${fires ? "fires for what is wrong" : "does not fire for what is well"}`,
    interval: "1m",
    input_series: series.map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      { eval_time: `${MINUTES}m`, alertname: alert, exp_alerts: fires ? [expected] : [] },
    ],
  };
}

/** Runs promtool; returns what it says if it does not succeed. */
function run(...args: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync([promtool ?? "", ...args]);
  return success ? "" : `${stdout.toString()}${stderr.toString()}`;
}

test("each alert has a case", () => {
  expect(CASES.map(({ alert }) => alert)).toEqual(rules.map(({ alert }) => alert));
});

describe.skipIf(promtool === undefined)("Prometheus", () => {
  test("takes the rules", () => expect(run("check", "rules", RULES)).toBe(""));

  longTest(
    "fires each alert for what is wrong, and not for what is well",
    () => {
      const dir = mkdtempSync(join(tmpdir(), "shorthop-alerts-"));
      const file = join(dir, "tests.yaml");
      const tests = CASES.flatMap((one) => [
        toTest(one, one.wrong, true),
        toTest(one, one.well, false),
      ]);
      // Every JSON document is one of YAML.
      writeFileSync(
        file,
        JSON.stringify({ rule_files: [RULES], evaluation_interval: "10m", tests }),
      );
      expect(run("test", "rules", file)).toBe("");
      rmSync(dir, { recursive: true });
    },
    60_000,
  );
});

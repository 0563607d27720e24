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

/**
 * Each alert as it fires, its summary for people, and its series with their values where something
 * is wrong and where it is just well: one that does not change, `+60` for one that grows by 60 a
 * minute, `now-60` for a time so many seconds before the evaluation, `-` where there is none.
 */
const CASES = `
ShorthopProcessDown{job="shorthop-api",instance="a:1"}
  shorthop-api on a:1 does not respond
  up{job="shorthop-api",instance="a:1"} 0 | 1
ShorthopJobAbsent{job="shorthop-api"}
  Prometheus has no target of shorthop-api
  up{job="shorthop-api"} - | 1
  up{job="shorthop-redirector"} 1 | 1
  up{job="shorthop-worker"} 1 | 1
ShorthopNotReady{job="shorthop-api",instance="a:1",part="postgres"}
  shorthop-api on a:1 is not ready: postgres
  shorthop_ready{job="shorthop-api",instance="a:1",part="postgres"} 0 | 1
ShorthopWarning{job="shorthop-api",instance="a:1",part="postgres"}
  shorthop-api on a:1 warns of postgres: shorthop doctor on that host says why
  shorthop_warning{job="shorthop-api",instance="a:1",part="postgres"} 1 | 0
  shorthop_warning{job="shorthop-api",instance="a:1",part="outbox"} - | 1
ShorthopStreamDamaged
  NATS returns nothing of what it accepts, so clicks are lost: shorthop doctor on a host of the API says which stream
  shorthop_warning{job="shorthop-api",instance="a:1",part="streams"} 1 | 0
  shorthop_warning{job="shorthop-api",instance="a:1",part="postgres"} - | 1
ShorthopEventLoopStalled{job="shorthop-api",instance="a:1"}
  shorthop-api on a:1 stalled for 0.8 s
  shorthop_event_loop_stall_max_seconds{job="shorthop-api",instance="a:1"} 0.75 | 0.3
ShorthopRepliesRefused{instance="a:1"}
  a:1 was asked over NATS to reply where it must not
  shorthop_worker_replies_refused_total{instance="a:1"} +1 | 7
ShorthopSlowRedirects{instance="a:1"}
  one in a hundred responses of a:1 takes 0.20 s or longer
  shorthop_redirector_http_request_duration_seconds_bucket{instance="a:1",le="0.1"} +5800 | +6000
  shorthop_redirector_http_request_duration_seconds_bucket{instance="a:1",le="0.25"} +6000 | +6000
  shorthop_redirector_http_request_duration_seconds_bucket{instance="a:1",le="+Inf"} +6000 | +6000
  shorthop_redirector_http_request_duration_seconds_count{instance="a:1"} +6000 | +6000
ShorthopFeedBehind{instance="a:1"}
  a:1 is 1001 link changes behind
  shorthop_redirector_feed_lag_messages{instance="a:1"} 1001 | 1000
ShorthopFeedStale{instance="a:1"}
  a:1 has had no word of the links log for 31 s
  shorthop_redirector_feed_age_seconds{instance="a:1"} 31 | 8
ShorthopFeedIncomplete{instance="a:1"}
  a:1 lacks links, and takes a snapshot: shorthop doctor on that host says what is in its way
  shorthop_redirector_feed_complete{instance="a:1"} 0 | 1
ShorthopLinksSnapshotOld
  no snapshot of the links was made for two days
  shorthop_api_links_snapshot_timestamp_seconds now-259200 | now-86400
ShorthopFeedRecordSkipped{instance="a:1",reason="malformed"}
  a:1 skipped a state of the links log: malformed
  shorthop_redirector_feed_records_skipped_total{instance="a:1",reason="malformed"} +1 | +0
ShorthopScan{instance="a:1"}
  clients of a:1 request many aliases that do not exist
  shorthop_redirector_lookups_total{instance="a:1",outcome="rate_limited"} +3600 | +600
ShorthopConnectionsRejected{instance="a:1",reason="full"}
  a:1 rejects connections: full
  shorthop_redirector_connections_rejected_total{instance="a:1",reason="full"} +120 | +6
ShorthopConnectionErrors{instance="a:1",reason="handler"}
  an error in a:1 closed connections: handler
  shorthop_redirector_connection_errors_total{instance="a:1",reason="handler"} +1 | +0
ShorthopClicksDropped{instance="a:1",reason="journal_full"}
  a:1 loses clicks: journal_full
  shorthop_redirector_clicks_dropped_total{instance="a:1",reason="journal_full"} +60 | +0
ShorthopJournalFilling{instance="a:1"}
  the journal of a:1 is half full: clicks do not reach NATS
  shorthop_redirector_journal_bytes{instance="a:1"} 51 | 40
  shorthop_redirector_journal_max_bytes{instance="a:1"} 100 | 100
ShorthopSegmentsQuarantined{instance="a:1"}
  a:1 has 2 segments that it cannot read
  shorthop_redirector_quarantined_segments{instance="a:1"} 2 | 0
ShorthopClicksLag
  clicks are stored late, or by no worker
  shorthop_worker_clicks_lag_seconds 61 | 2
  shorthop_worker_owner 1 | 1
ShorthopDeadLetters{instance="a:1"}
  ClickHouse rejected segments, which are in the dead-letter queue
  shorthop_worker_segments_total{instance="a:1",outcome="dead_lettered"} +1 | +0
ShorthopRollupsDiffer
  a consistency check rebuilt rollups that differed from their clicks
  shorthop_worker_rollup_differences_total +1 | 12
ShorthopCountersNotWritten
  clicks shown on links are 7m 0s old
  shorthop_worker_counters_written_timestamp_seconds now-420 | now-60
ShorthopClickEventsLate{instance="a:1"}
  the events of 40 batches of clicks wait on a:1
  shorthop_worker_click_event_batches_pending{instance="a:1"} 40 | 2
ShorthopOldGeoData{instance="a:1"}
  a GeoIP database of a:1 is older than 60 days
  shorthop_worker_geoip_built_timestamp_seconds{instance="a:1"} now-5270400 | now-5097600
ShorthopWebhooksLate
  an event has waited for a webhook for 1m 30s
  shorthop_api_webhooks_lag_seconds 90 | 30
ShorthopApiErrors
  5% of API requests fail
  shorthop_api_http_request_duration_seconds_count{status="200"} +950 | +995
  shorthop_api_http_request_duration_seconds_count{status="503"} +50 | +5
ShorthopOutboxOld
  a change of a link has not reached redirectors for 15m 0s
  shorthop_api_outbox_oldest_timestamp_seconds now-900 | now-10
ShorthopMailsLate
  a mail has waited for 1h 30m 0s
  shorthop_api_mails_delay_seconds{instance="a:1"} 5400 | 600
ShorthopOutboxGrowing
  13000 changes of links are pending, and their number grows
  shorthop_api_outbox_pending +100 | 5000
ShorthopBackupOld
  the newest backup is 3d 0h 0m 0s old
  shorthop_api_backup_timestamp_seconds now-259200 | now-86400
ShorthopBackupUnproven
  no backup of the last nine days was restored by a drill
  shorthop_api_backup_timestamp_seconds now-3600 | now-3600
  shorthop_api_backup_proven_timestamp_seconds now-864000 | now-691200
ShorthopDoctorFailed{instance="a:1",subject="api",check="clock"}
  a check of api on a:1 fails: clock
  shorthop_doctor_status{instance="a:1",subject="api",check="clock"} 2 | 1
ShorthopDoctorOld{instance="a:1"}
  the checks of a:1 have not run for 4h 0m 0s
  shorthop_doctor_timestamp_seconds{instance="a:1"} now-14400 | now-3600
ShorthopDiskFilling{instance="a:1",path="/var/lib"}
  the disk of /var/lib on a:1 has 9% left
  shorthop_doctor_disk_free_bytes{instance="a:1",path="/var/lib"} 9 | 10
  shorthop_doctor_disk_size_bytes{instance="a:1",path="/var/lib"} 100 | 100
ShorthopCertificateExpires{instance="a:1",path="/tls/cert.pem"}
  /tls/cert.pem on a:1 expires in 13d 0h 0m 0s
  shorthop_doctor_certificate_expiry_timestamp_seconds{instance="a:1",path="/tls/cert.pem"} now+1123200 | now+1296000
`
  .trim()
  .split(/\n(?=\S)/)
  .map((text) => {
    const [head = "", summary = "", ...series] = text.split("\n").map((line) => line.trim());
    const labels = [...head.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]);
    return {
      alert: head.replace(/\{.*/, ""),
      labels: z.record(z.string(), z.string()).parse(Object.fromEntries(labels)),
      summary,
      series: series.map((line) => line.split(/ \|? ?/)),
    };
  });

/** The values of a series in promtool's notation. */
function toValues(value: string): string {
  if (value.startsWith("+")) return `0${value}x${MINUTES}`;
  const atEnd = value.startsWith("now") ? MINUTES * 60 + Number(value.slice(3)) : value;
  return `${atEnd}x${MINUTES}`;
}

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

/** A test of promtool: the series of a case, and whether the alert fires at their end. */
function toTest({ alert, labels, summary, series }: (typeof CASES)[number], fires: boolean) {
  const { labels: own = {} } = rules.find((rule) => rule.alert === alert) ?? {};
  const runbook = `docs/runbook.md#${alert.toLowerCase()}`;
  const expected = { exp_labels: { ...labels, ...own }, exp_annotations: { summary, runbook } };
  return {
    name: `${alert} ${fires ? "fires for what is wrong" : "does not fire for what is well"}`,
    interval: "1m",
    input_series: series.flatMap(([name, wrong = "", well = ""]) => {
      const value = fires ? wrong : well;
      return value === "-" ? [] : [{ series: name, values: toValues(value) }];
    }),
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
      const tests = CASES.flatMap((one) => [toTest(one, true), toTest(one, false)]);
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

/**
 * What processes say of themselves during a drill: `/readyz`, and the metrics that alerts look at.
 */
import { withTimeout } from "../../../shared/timeout.ts";
import { type MetricFamily, parseMetrics } from "../../harness/prometheus.ts";
import { readReadiness } from "../../harness/services.ts";

export type Listener = {
  /** Adds what somebody else said. */
  note(lines: readonly string[]): void;
  /** Forgets what was said so far, before what a cell is about. */
  forget(): void;
  /** What is wrong at this moment. */
  listenOnce(): Promise<string[]>;
  /** Ends it; returns everything that was said, one line for each process and part. */
  stop(): Promise<string[]>;
};

/** Time between two looks. */
const POLL_MS = 500;

const METRICS_MS = 2_000;

type Metrics = ReadonlyMap<string, MetricFamily>;

/** The values of a metric, with labels that contain a text; none while it has no sample. */
const valuesOf = (metrics: Metrics, name: string, labels = ""): number[] =>
  [...(metrics.get(`shorthop_${name}`)?.samples ?? [])]
    .filter(([series]) => series.includes(labels))
    .map(([, value]) => value);

const isAbove =
  (name: string, limit: number, labels = "") =>
  (metrics: Metrics): boolean =>
    valuesOf(metrics, name, labels).some((value) => value > limit);

const isOlder =
  (name: string, seconds: number) =>
  (metrics: Metrics): boolean =>
    valuesOf(metrics, name).some((at) => at > 0 && Date.now() / 1_000 - at > seconds);

/**
 * Alerts of deploy/monitoring/alerts.yaml by their conditions, without the time for which these
 * must hold.
 */
export const ALERTS: Readonly<Record<string, (metrics: Metrics) => boolean>> = {
  ShorthopStreamDamaged: isAbove("warning", 0, 'part="streams"'),
  ShorthopFeedStale: isAbove("redirector_feed_age_seconds", 30),
  ShorthopFeedIncomplete: (metrics) => valuesOf(metrics, "redirector_feed_complete").includes(0),
  ShorthopFeedRecordSkipped: isAbove("redirector_feed_records_skipped_total", 0),
  ShorthopClicksDropped: isAbove("redirector_clicks_dropped_total", 0),
  ShorthopSegmentsQuarantined: isAbove("redirector_quarantined_segments", 0),
  ShorthopClicksLag: (metrics) =>
    isAbove("worker_clicks_lag_seconds", 60)(metrics) ||
    valuesOf(metrics, "worker_owner").includes(0),
  ShorthopDeadLetters: isAbove("worker_segments_total", 0, 'outcome="dead_lettered"'),
  ShorthopRollupsDiffer: isAbove("worker_rollup_differences_total", 0),
  ShorthopCountersNotWritten: isOlder("worker_counters_written_timestamp_seconds", 300),
  ShorthopWebhooksLate: isAbove("api_webhooks_lag_seconds", 60),
  ShorthopOldGeoData: isOlder("worker_geoip_built_timestamp_seconds", 60 * 86_400),
  ShorthopOutboxOld: isOlder("api_outbox_oldest_timestamp_seconds", 60),
};

/** Counters that no alert looks at, and that runbook pages name. */
const COUNTERS = ["worker_segments_torn_total", "redirector_segments_quarantined_total"];

async function readOne(name: string, url: string): Promise<[string, string][]> {
  try {
    const { parts, warnings } = await readReadiness(url);
    return [
      ...Object.entries(parts).filter(([, state]) => state !== "ok"),
      ...Object.entries(warnings),
    ].map(([part, text]): [string, string] => [`${name}: ${part}`, text]);
  } catch {
    return [[`${name}: does not respond`, "alert ShorthopProcessDown"]];
  }
}

async function readMetrics(name: string, url: string): Promise<[string, string][]> {
  const metrics = await withTimeout(
    fetch(new URL("/metrics", url)).then((response) => response.text()),
    METRICS_MS,
  ).then(parseMetrics, () => new Map<string, MetricFamily>());
  const alerts = Object.entries(ALERTS).filter(([, fires]) => fires(metrics));
  const counters = COUNTERS.filter((counter) => isAbove(counter, 0)(metrics));
  return [
    ...alerts.map(([alert]): [string, string] => [`${name}: alert ${alert}`, ""]),
    ...counters.map((counter): [string, string] => [`${name}: shorthop_${counter}`, "above 0"]),
  ];
}

const format = ([subject, text]: [string, string]): string =>
  text === "" ? subject : `${subject}: ${text}`;

/**
 * Listens to processes, by their names and the addresses of their metrics; what they say already is
 * left out.
 */
export async function listen(processes: () => Readonly<Record<string, string>>): Promise<Listener> {
  /** The last text by process and part. */
  const said = new Map<string, string>();
  let stopped = false;

  async function readAll(): Promise<[string, string][]> {
    const all = Object.entries(processes()).flatMap(([name, url]) => [
      readOne(name, url),
      readMetrics(name, url),
    ]);
    return (await Promise.all(all)).flat();
  }

  const before = new Set((await readAll()).map(([subject]) => subject));
  const readNew = async (): Promise<[string, string][]> =>
    (await readAll()).filter(([subject]) => !before.has(subject));

  async function listenAgain(): Promise<void> {
    for (const [subject, text] of await readNew()) said.set(subject, text);
  }

  const running = (async () => {
    while (!stopped) {
      await listenAgain();
      await Bun.sleep(POLL_MS);
    }
  })();

  return {
    note: (lines) => {
      for (const line of lines) said.set(line, "");
    },
    forget: () => said.clear(),
    listenOnce: async () => (await readNew()).map(format),
    async stop() {
      stopped = true;
      await running;
      await listenAgain();
      return [...said].map(format).toSorted();
    },
  };
}

/**
 * What processes say of themselves during a drill: `/readyz`, and the metrics that alerts look at.
 */
import { withTimeout } from "../../../shared/timeout.ts";
import { type MetricFamily, parseMetrics } from "../../harness/prometheus.ts";
import { readReadiness } from "../../harness/services.ts";

/** Time between two looks. */
const POLL_MS = 500;

const METRICS_MS = 2_000;

/** Addresses of the metrics of processes, by their names. */
type Processes = () => Readonly<Record<string, string>>;

/** Listens to processes; what they say already when it begins is left out. */
export class Listener {
  readonly #processes: Processes;
  readonly #before: ReadonlySet<string>;
  /** The last text by process and part. */
  readonly #said = new Map<string, string>();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  static async start(processes: Processes): Promise<Listener> {
    const before = (await readAll(processes)).map(([subject]) => subject);
    const listener = new Listener(processes, new Set(before));
    listener.#running = listener.#listen();
    return listener;
  }

  private constructor(processes: Processes, before: ReadonlySet<string>) {
    this.#processes = processes;
    this.#before = before;
  }

  /** Adds what somebody else said. */
  note(lines: readonly string[]): void {
    for (const line of lines) this.#said.set(line, "");
  }

  /** Forgets what was said so far, before what a drill is about. */
  forget(): void {
    this.#said.clear();
  }

  /** What is wrong at this moment. */
  async listenOnce(): Promise<string[]> {
    return (await this.#readNew()).map(format);
  }

  /** Ends it; returns everything that was said, one line for each process and part. */
  async stop(): Promise<string[]> {
    this.#stopped = true;
    await this.#running;
    await this.#listenAgain();
    return [...this.#said].map(format).toSorted();
  }

  async #listen(): Promise<void> {
    while (!this.#stopped) {
      await this.#listenAgain();
      await Bun.sleep(POLL_MS);
    }
  }

  async #listenAgain(): Promise<void> {
    for (const [subject, text] of await this.#readNew()) this.#said.set(subject, text);
  }

  async #readNew(): Promise<Said[]> {
    return (await readAll(this.#processes)).filter(([subject]) => !this.#before.has(subject));
  }
}

/** A process and its part, and what it says of it. */
type Said = [subject: string, text: string];

async function readAll(processes: Processes): Promise<Said[]> {
  const all = Object.entries(processes()).flatMap(([name, url]) => [
    readOne(name, url),
    readMetrics(name, url),
  ]);
  return (await Promise.all(all)).flat();
}

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

async function readOne(name: string, url: string): Promise<Said[]> {
  try {
    const { parts, warnings } = await readReadiness(url);
    return [
      ...Object.entries(parts).filter(([, state]) => state !== "ok"),
      ...Object.entries(warnings),
    ].map(([part, text]): Said => [`${name}: ${part}`, text]);
  } catch {
    return [[`${name}: does not respond`, "alert ShorthopProcessDown"]];
  }
}

async function readMetrics(name: string, url: string): Promise<Said[]> {
  const metrics = await withTimeout(
    fetch(new URL("/metrics", url)).then((response) => response.text()),
    METRICS_MS,
  ).then(parseMetrics, () => new Map<string, MetricFamily>());
  const alerts = Object.entries(ALERTS).filter(([, fires]) => fires(metrics));
  const counters = COUNTERS.filter((counter) => isAbove(counter, 0)(metrics));
  return [
    ...alerts.map(([alert]): Said => [`${name}: alert ${alert}`, ""]),
    ...counters.map((counter): Said => [`${name}: shorthop_${counter}`, "above 0"]),
  ];
}

const format = ([subject, text]: Said): string => (text === "" ? subject : `${subject}: ${text}`);

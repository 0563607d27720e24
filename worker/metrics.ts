/** Metrics of the worker. */
import { createProcessMetrics, type ProcessMetrics } from "../shared/metrics.ts";
import { registerReplies, type Replies } from "../shared/replies.ts";
import type { Geo } from "../shared/visitors/geo.ts";
import type { ConsistencyCheck } from "./consistency-check.ts";
import type { CountOutcome } from "./consumer/acknowledger.ts";
import type { Consumer } from "./consumer/consumer.ts";
import type { Counters } from "./counters.ts";
import type { ClickRecorder } from "./events/recorder.ts";
import type { Deliverer } from "./webhooks/deliverer.ts";
import type { Outcome } from "./webhooks/results.ts";

const INSERT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const AGE_BUCKETS = [0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 3_600];

type MetricSources = {
  consumer: Consumer;
  counters: Counters;
  recorder: ClickRecorder;
  audit: ConsistencyCheck;
  geo: Geo;
  failureReports: () => Record<string, number>;
  replies: Replies;
};

export function createMetrics() {
  const metrics = createProcessMetrics("worker");
  return {
    registry: metrics.registry,
    ...countOutcomes(metrics),
    ...measureBatches(metrics),
    ...measureWebhooks(metrics),
    /** Registers the metrics of the worker's parts. */
    watch(sources: MetricSources): void {
      watchOwner(metrics, sources);
      watchRecorder(metrics, sources);
      watchConsistency(metrics, sources);
      watchFailureReports(metrics, sources);
      watchGeo(metrics, sources);
    },
  };
}

function countOutcomes({ counter, counterBy }: ProcessMetrics) {
  const segments = { stored: 0, dead_lettered: 0, duplicate: 0 };
  const clicks = { stored: 0, dead_lettered: 0 };
  let torn = 0;
  counterBy("outcome", "segments_total", "Segments, by outcome", () => segments);
  counterBy("outcome", "clicks_total", "Clicks, by outcome", () => clicks);
  const tornHelp = "Stored segments that a crash had cut short, or a disk damaged";
  counter("segments_torn_total", tornHelp, () => torn);
  return {
    count: ((outcome, segmentCount, clickCount) => {
      if (outcome === "torn") {
        torn += segmentCount;
        return;
      }
      segments[outcome] += segmentCount;
      if (outcome !== "duplicate") clicks[outcome] += clickCount;
    }) satisfies CountOutcome,
  };
}

function watchRecorder({ gauge, counter }: ProcessMetrics, { recorder }: MetricSources): void {
  const help = "Events of clicks that were written, some of them again after a takeover";
  counter("click_events_total", help, recorder.written);
  const waitingHelp = "Batches of clicks whose events are not written yet";
  gauge("click_event_batches_pending", waitingHelp, recorder.waiting);
}

function measureBatches({ histogram }: ProcessMetrics) {
  const inserts = histogram(
    "insert_duration_seconds",
    "Time of one insert into ClickHouse, by outcome",
    { buckets: INSERT_BUCKETS, labelNames: ["outcome"] },
  );
  inserts.zero({ outcome: "ok" });
  inserts.zero({ outcome: "error" });
  const agesHelp = "Age of the first click of a batch when it was stored";
  const ages = histogram("batch_age_seconds", agesHelp, {
    buckets: AGE_BUCKETS,
    labelNames: [],
  });

  return {
    /** Runs an insert, and observes how long it took. */
    async timeInsert(insert: () => Promise<void>): Promise<void> {
      const end = inserts.startTimer();
      try {
        await insert();
        end({ outcome: "ok" });
      } catch (error) {
        end({ outcome: "error" });
        throw error;
      }
    },
    /** Observes a batch that was stored: the age of its first click, in seconds. */
    observeBatch(ageSeconds: number): void {
      ages.observe(ageSeconds);
    },
  };
}

function measureWebhooks(metrics: ProcessMetrics) {
  const attempts = { delivered: 0, pending: 0, failed: 0 };
  const latencies = metrics.histogram(
    "webhook_attempt_duration_seconds",
    "Time of one attempt to deliver an event",
    { buckets: INSERT_BUCKETS, labelNames: [] },
  );
  return {
    observeAttempt({ status, latencyMs }: Outcome): void {
      attempts[status] += 1;
      latencies.observe(latencyMs / 1_000);
    },
    /** Registers the metrics of deliveries. */
    watchWebhooks(deliverer: Deliverer): void {
      const attemptsHelp =
        "Attempts to deliver an event, by what became of the delivery; a pending one is retried";
      metrics.counterBy("status", "webhook_attempts_total", attemptsHelp, () => attempts);
      const leasedHelp = "Webhooks that this worker delivers to";
      metrics.gauge("webhooks_leased", leasedHelp, deliverer.leased);
      metrics.gauge("webhooks_in_flight", "Deliveries in flight", deliverer.inFlight);
      const disabledHelp = "Webhooks that this worker has disabled because of their receivers";
      metrics.counter("webhooks_disabled_total", disabledHelp, deliverer.disabled);
    },
  };
}

function watchOwner({ gauge }: ProcessMetrics, { consumer }: MetricSources): void {
  const pendingHelp = "Segments in JetStream that no worker has fetched; absent when unknown";
  gauge("segments_pending", pendingHelp, () =>
    consumer.state() === "ok" ? consumer.pending() : undefined,
  );
  const lagHelp = "Age of the oldest click that the owner is storing; absent on other workers";
  gauge("clicks_lag_seconds", lagHelp, () => consumer.lagSeconds());
  const ownerHelp = "Whether this worker stores clicks: 0 while it stands by";
  gauge("owner", ownerHelp, () => (consumer.owner() === undefined ? 0 : 1));
  const epochHelp = "The owner's epoch; absent on other workers";
  gauge("owner_epoch", epochHelp, () => consumer.owner()?.epoch);
  const rangesHelp = "Ranges in the index of stored segments; absent on other workers";
  gauge("index_ranges", rangesHelp, () => consumer.owner()?.ranges);
  const forgottenHelp = "Journals dropped from the full index; absent on other workers";
  gauge("index_forgotten_journals", forgottenHelp, () => consumer.owner()?.forgotten);
  const openHelp =
    "Batches of which it is still in doubt whether they are stored; absent on other workers";
  gauge("open_batches", openHelp, () => consumer.owner()?.open);
}

function watchConsistency(
  { gauge, counter }: ProcessMetrics,
  { consumer, counters, audit }: MetricSources,
): void {
  const settledHelp = "Batches that a worker before had left in doubt, and that were settled";
  counter("batches_settled_total", settledHelp, () => consumer.settled());
  const countersHelp = "Links whose counters are to be written to PostgreSQL";
  gauge("counters_pending", countersHelp, counters.pending);
  const writtenHelp = "When counters were last written to PostgreSQL; absent before";
  gauge("counters_written_timestamp_seconds", writtenHelp, () => toSeconds(counters.writtenAt()));
  const differencesHelp = "Rollup buckets that a consistency check found wrong, and rebuilt";
  counter("rollup_differences_total", differencesHelp, audit.differences);
}

function watchFailureReports(
  metrics: ProcessMetrics,
  { failureReports, replies }: MetricSources,
): void {
  const reportsHelp = "Reports of failed requests from redirectors, by outcome";
  metrics.counterBy("outcome", "failure_reports_total", reportsHelp, failureReports);
  registerReplies(metrics, replies);
}

function watchGeo({ gauge }: ProcessMetrics, { geo }: MetricSources): void {
  gauge("geoip_databases", "GeoIP databases in use", () => geo.databases().length);
  const builtHelp = "When the oldest GeoIP database was built; absent without one";
  gauge("geoip_built_timestamp_seconds", builtHelp, () => {
    const built = geo.databases().map((database) => database.built.getTime());
    return toSeconds(built.length === 0 ? undefined : Math.min(...built));
  });
}

const toSeconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1_000;

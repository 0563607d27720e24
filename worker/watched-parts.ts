/** Metrics that are read from the worker's parts when Prometheus scrapes. */
import type { Replies } from "../shared/nats.ts";
import type { Geo } from "../shared/visitors/geo.ts";
import type { ConsistencyCheck } from "./consistency-check.ts";
import type { Consumer } from "./consumer/consumer.ts";
import type { Counters } from "./counters.ts";
import type { ClickRecorder } from "./events/recorder.ts";
import type { FailureReports } from "./failure-reports.ts";
import type { Metrics } from "./metrics.ts";
import type { Deliverer } from "./webhooks/deliverer.ts";

/** The parts of a worker whose state operators see. */
export type Parts = {
  geo: Geo;
  replies: Replies;
  consumer: Consumer;
  counters: Counters;
  recorder: ClickRecorder;
  check: ConsistencyCheck;
  failureReports: FailureReports;
  /** Undefined without webhooks. */
  deliverer: Deliverer | undefined;
};

/** Registers the metrics of the parts. */
export function watchParts(metrics: Metrics, parts: Parts): void {
  watchOwner(metrics, parts);
  watchStorage(metrics, parts);
  watchFailureReports(metrics, parts);
  watchGeo(metrics, parts);
  if (parts.deliverer !== undefined) watchWebhooks(metrics, parts.deliverer);
}

function watchOwner({ process: { gauge } }: Metrics, { consumer }: Parts): void {
  const pendingHelp = "Segments in JetStream that no worker has fetched; absent when unknown";
  gauge("segments_pending", pendingHelp, () =>
    consumer.state === "ok" ? consumer.pending : undefined,
  );
  const lagHelp = "Age of the oldest click that the owner is storing; absent on other workers";
  gauge("clicks_lag_seconds", lagHelp, () => consumer.lagSeconds);
  const ownerHelp = "Whether this worker stores clicks: 0 while it stands by";
  gauge("owner", ownerHelp, () => (consumer.owner === undefined ? 0 : 1));
  const epochHelp = "The owner's epoch; absent on other workers";
  gauge("owner_epoch", epochHelp, () => consumer.owner?.epoch);
  const rangesHelp = "Ranges in the index of stored segments; absent on other workers";
  gauge("index_ranges", rangesHelp, () => consumer.owner?.ranges);
  const forgottenHelp = "Journals dropped from the full index; absent on other workers";
  gauge("index_forgotten_journals", forgottenHelp, () => consumer.owner?.forgotten);
  const openHelp =
    "Batches of which it is still in doubt whether they are stored; absent on other workers";
  gauge("open_batches", openHelp, () => consumer.owner?.open);
}

function watchStorage(
  { process: { gauge, counter } }: Metrics,
  { consumer, counters, recorder, check }: Parts,
): void {
  const settledHelp = "Batches that a worker before had left in doubt, and that were settled";
  counter("batches_settled_total", settledHelp, () => consumer.settled);
  const countersHelp = "Links whose counters are to be written to PostgreSQL";
  gauge("counters_pending", countersHelp, () => counters.pending);
  const writtenHelp = "When counters were last written to PostgreSQL; absent before";
  gauge("counters_written_timestamp_seconds", writtenHelp, () => toSeconds(counters.writtenAt));
  const differencesHelp = "Rollup buckets that a consistency check found wrong, and rebuilt";
  counter("rollup_differences_total", differencesHelp, () => check.differences);
  const eventsHelp = "Events of clicks that were written, some of them again after a takeover";
  counter("click_events_total", eventsHelp, () => recorder.written);
  const waitingHelp = "Batches of clicks whose events are not written yet";
  gauge("click_event_batches_pending", waitingHelp, () => recorder.waiting);
}

function watchFailureReports({ process }: Metrics, { failureReports, replies }: Parts): void {
  const reportsHelp = "Reports of failed requests from redirectors, by outcome";
  process.counterBy("outcome", "failure_reports_total", reportsHelp, () => failureReports.outcomes);
  replies.register(process);
}

function watchGeo({ process: { gauge } }: Metrics, { geo }: Parts): void {
  gauge("geoip_databases", "GeoIP databases in use", () => geo.databases().length);
  const builtHelp = "When the oldest GeoIP database was built; absent without one";
  gauge("geoip_built_timestamp_seconds", builtHelp, () => {
    const built = geo.databases().map((database) => database.built.getTime());
    return toSeconds(built.length === 0 ? undefined : Math.min(...built));
  });
}

function watchWebhooks(metrics: Metrics, deliverer: Deliverer): void {
  const { gauge, counter, counterBy } = metrics.process;
  const attemptsHelp =
    "Attempts to deliver an event, by what became of the delivery; a pending one is retried";
  counterBy("status", "webhook_attempts_total", attemptsHelp, () => metrics.attempts);
  const leasedHelp = "Webhooks that this worker delivers to";
  gauge("webhooks_leased", leasedHelp, () => deliverer.leased);
  gauge("webhooks_in_flight", "Deliveries in flight", () => deliverer.inFlight);
  const disabledHelp = "Webhooks that this worker has disabled because of their receivers";
  counter("webhooks_disabled_total", disabledHelp, () => deliverer.disabled);
}

const toSeconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1_000;

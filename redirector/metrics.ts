/**
 * Metrics of the redirector. They are read when scraped: a redirect only increments plain
 * variables.
 */
import { Histogram, type Registry } from "prom-client";

import type { ProcessMetrics } from "../shared/metrics.ts";
import type { Replies } from "../shared/nats.ts";
import type { Config } from "./config.ts";
import type { LatencyHistogram } from "./http/latency.ts";
import type { Server } from "./http/server.ts";
import type { Parts } from "./parts.ts";
import type { Redirector } from "./redirect/redirector.ts";

type Sources = { parts: Parts; redirector: Redirector; server: Server; replies: Replies };

/** Registers the metrics of all parts of the process. */
export function registerMetrics(metrics: ProcessMetrics, config: Config, sources: Sources): void {
  const { parts, redirector, server, replies } = sources;
  registerServer(metrics, server);
  registerRequests(metrics, redirector);
  registerLinks(metrics, parts);
  registerClicks(metrics, parts, config.JOURNAL_BYTES_MAX);
  registerGeo(metrics, parts);
  registerLimits(metrics, parts);
  registerFailures(metrics, parts);
  replies.register(metrics);
}

function registerServer(
  { registry, gauge, counter, counterBy }: ProcessMetrics,
  server: Server,
): void {
  registerLatency(
    registry,
    "shorthop_redirector_http_request_duration_seconds",
    "Time from reading a request to handing its response to the socket",
    server.latency,
  );
  const errorsHelp = "Connections ended by an error, by reason";
  counterBy("reason", "connection_errors_total", errorsHelp, () => server.connections.errors);
  gauge("connections_open", "Open connections", () => server.connections.open);
  const help = "Connections closed as soon as they were opened, by reason";
  counterBy("reason", "connections_rejected_total", help, () => server.connections.rejected);
  const evictedHelp = "Idle connections closed to make room for new ones";
  counter("connections_evicted_total", evictedHelp, () => server.connections.evicted);
}

function registerRequests(
  { gauge, counterBy }: ProcessMetrics,
  { responses, lookups }: Redirector,
): void {
  counterBy("outcome", "responses_total", "Responses, by outcome", () => responses);
  gauge(
    "lookups_in_flight",
    "Requests for unknown aliases that wait now",
    () => lookups.stats().inFlight,
  );
  const help = "Requests for aliases that are not on the host, by outcome";
  counterBy("outcome", "lookups_total", help, () => lookups.stats().outcomes);
}

function registerLinks({ gauge, counterBy }: ProcessMetrics, parts: Parts): void {
  const { cache, logHealth, links } = parts;
  gauge("cache_entries", "Links in the cache", () => cache.stats().entries);
  gauge("cache_bytes", "Memory of the cache", () => cache.stats().bytes);
  const lagHelp = "Messages of the links log that the store does not have; absent when unknown";
  gauge("feed_lag_messages", lagHelp, () => logHealth.lag());
  const ageHelp = "Time since the last entry of the links log was written to the store";
  gauge("feed_age_seconds", ageHelp, () => logHealth.ageSeconds());
  const completeHelp = "0 while the store lacks links, else 1";
  gauge("feed_complete", completeHelp, () => Number(logHealth.complete()));
  const skippedHelp = "States and messages of the links log that were skipped, by reason";
  counterBy("reason", "feed_records_skipped_total", skippedHelp, () => parts.skipped);
  const readsHelp = "Reads of the links store for requests, by whether they waited for the disk";
  counterBy("kind", "store_reads_total", readsHelp, () => links.counts);
}

function registerClicks(
  { gauge, counter, counterBy, info }: ProcessMetrics,
  { journal, publisher }: Parts,
  journalBytesMax: number,
): void {
  const infoHelp = "Always 1; the label is the journal id, under which segments are numbered";
  info("journal_info", infoHelp, { journal: journal.id });
  const recordedHelp = "Clicks written to the journal";
  counter("clicks_recorded_total", recordedHelp, () => journal.stats().recorded);
  const droppedHelp = "Clicks lost, by reason";
  counterBy("reason", "clicks_dropped_total", droppedHelp, () => journal.stats().dropped);
  gauge("journal_bytes", "Size of the journal on disk", () => journal.stats().pendingBytes);
  gauge("journal_max_bytes", "Largest size the journal may have", () => journalBytesMax);
  const pendingHelp = "Sealed segments that JetStream has not acknowledged";
  gauge("segments_pending", pendingHelp, () => publisher.stats().pending);
  const publishedHelp = "Segments that JetStream acknowledged";
  counter("segments_published_total", publishedHelp, () => publisher.stats().published);
  const quarantinedHelp = "Segments moved to the quarantine because their files cannot be read";
  counter(
    "segments_quarantined_total",
    quarantinedHelp,
    () => journal.stats().quarantined + publisher.stats().quarantined,
  );
  gauge("quarantined_segments", "Segments in the quarantine now", () => journal.countQuarantine());
}

function registerGeo({ gauge, counter }: ProcessMetrics, { geo }: Parts): void {
  const help = "GeoIP databases in use for rules by country and continent";
  gauge("geoip_databases", help, () => geo.stats().databases);
  const undeterminedHelp = "Rules by country or continent that had no GeoIP database";
  counter("geoip_undetermined_total", undeterminedHelp, () => geo.stats().undetermined);
}

function registerLimits(
  { gauge, counter, counterBy }: ProcessMetrics,
  { limits, continuity }: Parts,
): void {
  const help = "Requests for limited links, by outcome";
  counterBy("outcome", "limit_requests_total", help, () => limits.stats().outcomes);
  const openHelp = "Limits of which the redirector holds, or may hold, leased clicks";
  gauge("limit_leases_open", openHelp, () => limits.stats().open);
  const rollbacksHelp = "Times the ledgers of limits were found rolled back";
  counter("limit_set_backs_total", rollbacksHelp, () => continuity.rollbacks);
}

function registerFailures({ gauge, counter }: ProcessMetrics, { failures }: Parts): void {
  const help = "Reports of failed requests that no worker has stored yet";
  gauge("failure_reports_pending", help, () => failures.stats().pending);
  const entriesHelp = "Links, domains and unknown aliases in sums of failed requests";
  gauge("failure_entries", entriesHelp, () => failures.stats().entries);
  const droppedHelp = "Failed requests left out of statistics because of a bound";
  counter("failures_dropped_total", droppedHelp, () => failures.stats().dropped);
}

/** Registers a {@link LatencyHistogram} as a Prometheus histogram. */
function registerLatency(
  registry: Registry,
  name: string,
  help: string,
  latency: LatencyHistogram,
): void {
  // Called by the registry when scraped; the histogram's `get` uses it too.
  const getForPromString = () => {
    const { buckets, count, sumSeconds } = latency.read();
    const sample = (
      suffix: string,
      value: number,
      labels: Record<string, number | string> = {},
    ) => ({
      metricName: `${name}_${suffix}`,
      labels,
      sharedLabels: {},
      value,
    });
    const values = [
      ...buckets.map((bucket) => sample("bucket", bucket.count, { le: bucket.le })),
      sample("sum", sumSeconds),
      sample("count", count),
    ];
    return Promise.resolve({ name, help, type: "histogram", values });
  };
  const histogram = new Histogram({ name, help, registers: [] });
  registry.registerMetric(Object.assign(histogram, { getForPromString }));
}

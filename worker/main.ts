/**
 * The worker process. `bun worker/main.ts` runs it. The argument `migrate` updates the schema and
 * exits, `check` reports whether the worker could start, `geoip-update` downloads GeoIP databases,
 * `cluster-schema NAME` prints the schema for a cluster.
 */
import { CLICKS_STREAM, DEAD_LETTERS_STREAM } from "../shared/contracts/streams.ts";
import { loadConfig } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { InternalServer } from "../shared/internal-server.ts";
import { type Lifecycle, Notifier, ProcessLifecycle, runMain } from "../shared/lifecycle.ts";
import { processLog } from "../shared/log.ts";
import { Replies } from "../shared/nats.ts";
import { printCheck, printFindings } from "../shared/preflight.ts";
import { answerStatus } from "../shared/status.ts";
import { ReplicaWatch } from "../shared/stream-checks.ts";
import { type Geo, GeoDatabases } from "../shared/visitors/geo.ts";
import { ReceiverRules } from "../shared/webhooks.ts";
import { BatchesTable } from "./batches/batch-log.ts";
import { ClicksTable } from "./batches/clicks-table.ts";
import { checks, migrateChecks } from "./checks.ts";
import { configSchema, geoipConfigSchema, migrateConfigSchema } from "./config.ts";
import { ConsistencyCheck } from "./consistency-check.ts";
import { ClicksConsumer } from "./consumer/consumer.ts";
import { connect, type Context } from "./context.ts";
import { Counters } from "./counters.ts";
import { DiskRoom } from "./disk-room.ts";
import { Enricher } from "./enrich/rows.ts";
import { ClickRecorder } from "./events/recorder.ts";
import { FailureReports } from "./failure-reports.ts";
import { updateDatabase } from "./geoip-update.ts";
import type { Metrics } from "./metrics.ts";
import { clusterSchema, migrate, migrations, statementsOf } from "./migrations/migrate.ts";
import { Repairs } from "./repairs.ts";
import { Transport } from "./webhooks/attempt.ts";
import { Deliverer } from "./webhooks/deliverer.ts";
import { resolveBy } from "./webhooks/post.ts";

const toSeconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1_000;

async function runWorker(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = processLog("worker", config.LOG_LEVEL);
  const notifier = new Notifier(process.env, log);
  const lifecycle = new ProcessLifecycle(log, notifier);
  const context = connect(config, log, lifecycle);
  const parts = await startParts(context, lifecycle);
  watchParts(context.metrics, parts);
  const internal = startReporting(context, lifecycle, parts);
  const geoip = parts.geo.databases().map(({ path, built }) => `${path} of ${built.toISOString()}`);
  log.info({ internal_url: internal.url.origin, geoip }, "listening");
  notifier.ready();
}

/** Starts what works by itself; it stops in reverse order. */
async function startParts(context: Context, lifecycle: Lifecycle): Promise<Parts> {
  const { config, log, clickhouse, metrics } = context;
  const geo = await GeoDatabases.open(config.GEOIP_DATABASES, (path, error) =>
    log.warn({ path, error }, "geoip_database_missing"),
  );
  const counters = new Counters(context);
  counters.start();
  lifecycle.onStop("counters", () => counters.stop());

  const batchLog = new BatchesTable(clickhouse);
  const clicks = new ClicksTable(clickhouse, metrics);
  const recorder = new ClickRecorder(context, batchLog, clicks);
  recorder.start();
  lifecycle.onStop("click events", () => recorder.stop());

  const hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
  const hasAnonymousVisitors = config.PRIVACY_SIGNAL === "anonymous";
  const enricher = new Enricher(geo, config.VISITOR_HASH_SECRET, hosts, hasAnonymousVisitors);
  const repairs = new Repairs(context, counters);
  const clickParts = { enricher, batchLog, clicks, repairs, counters, recorder };
  const consumer = new ClicksConsumer(context, clickParts);
  lifecycle.onStop("consumer", () => consumer.stop());
  const check = new ConsistencyCheck(context, repairs, consumer);
  lifecycle.onStop("consistency check", () => check.stop());

  const replies = new Replies(log);
  const failureReports = new FailureReports(context, replies);
  const deliverer = startDeliverer(context, [...hosts]);
  if (deliverer !== undefined) lifecycle.onStop("webhooks", () => deliverer.stop());
  return { geo, replies, consumer, counters, recorder, check, failureReports, deliverer };
}

/** Starts to deliver events to webhooks, if the installation has any. */
function startDeliverer(context: Context, hosts: readonly string[]): Deliverer | undefined {
  const { config } = context;
  if (config.WEBHOOKS_SECRET === undefined) return undefined;
  const rules = new ReceiverRules(config);
  const transport = new Transport(config.WEBHOOKS_SECRET, rules, resolveBy(config.DNS_SERVERS));
  return new Deliverer(context, transport, hosts);
}

/** Reports health, metrics and status to operators. */
function startReporting(context: Context, lifecycle: Lifecycle, parts: Parts) {
  const { config, log, metrics, nats } = context;
  const { consumer, counters, replies, deliverer } = parts;
  const streams = [CLICKS_STREAM, DEAD_LETTERS_STREAM];
  const replicas = new ReplicaWatch(nats.connection, streams, config.NATS_REPLICAS, log);
  lifecycle.onStop("replica watch", () => replicas.stop());
  const room = new DiskRoom(context);
  lifecycle.onStop("disk watch", () => room.stop());

  const health = {
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      clicks: consumer.state,
      counters: counters.state,
    }),
    warnings: () => ({
      replicas: replicas.warning(),
      clickhouse: consumer.warning ?? room.warning,
      webhooks: deliverer?.warning,
    }),
  };
  answerStatus(
    nats.connection,
    replies,
    {
      health,
      process: "worker",
      figures: () => ({
        owner: consumer.owner !== undefined,
        owner_epoch: consumer.owner?.epoch,
        clicks_lag_seconds: consumer.lagSeconds,
        segments_pending: consumer.state === "ok" ? consumer.pending : undefined,
      }),
    },
    log,
  );
  const address = { host: config.WORKER_METRICS_HOST, port: config.WORKER_METRICS_PORT };
  const internal = new InternalServer(address, metrics.process.registry, health);
  lifecycle.onStop("internal server", () => internal.stop());
  return internal;
}

/** Downloads the GeoIP databases; fails when one of them cannot be updated. */
async function updateGeoip(): Promise<void> {
  const { GEOIP_DATABASES, GEOIP_URLS } = loadConfig(geoipConfigSchema, process.env);
  for (const [i, path] of GEOIP_DATABASES.entries())
    console.log(await updateDatabase(GEOIP_URLS[i] ?? "", path));
}

/** Prints the schema for a cluster, for an operator to review and run. */
async function printClusterSchema(): Promise<void> {
  const statements = migrations.flatMap(({ text }) => statementsOf(text));
  const converted = clusterSchema(statements, process.argv[3] ?? "shorthop");
  console.log(converted.map((statement) => `${statement};`).join("\n\n"));
}

// Metrics that are read from the worker's parts when Prometheus scrapes.

/** The parts of a worker whose state operators see. */
type Parts = {
  geo: Geo;
  replies: Replies;
  consumer: ClicksConsumer;
  counters: Counters;
  recorder: ClickRecorder;
  check: ConsistencyCheck;
  failureReports: FailureReports;
  /** Undefined without webhooks. */
  deliverer: Deliverer | undefined;
};

/** Registers the metrics of the parts. */
function watchParts(metrics: Metrics, parts: Parts): void {
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

await runMain(
  {
    "": runWorker,
    migrate: () => migrate(process.env),
    check: () => printCheck(configSchema, process.env, checks),
    doctor: () => printFindings(configSchema, process.env, checks),
    "doctor-migrate": () => printFindings(migrateConfigSchema, process.env, migrateChecks),
    "geoip-update": updateGeoip,
    "cluster-schema": printClusterSchema,
  },
  process.argv.slice(2),
);

/**
 * The worker process. `bun worker/main.ts` runs it. The argument `migrate` updates the schema and
 * exits, `check` reports whether the worker could start, `geoip-update` downloads GeoIP databases,
 * `cluster-schema NAME` prints the schema for a cluster.
 */
import { CLICKS_STREAM, DEAD_LETTERS_STREAM } from "../shared/contracts/streams.ts";
import { loadConfig } from "../shared/env.ts";
import type { HealthSource } from "../shared/health.ts";
import { ownHosts } from "../shared/hosts.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, type Lifecycle, runMain } from "../shared/lifecycle.ts";
import { createLog, type Log } from "../shared/log.ts";
import { type Nats, openNats } from "../shared/nats.ts";
import { createCheckCommands } from "../shared/preflight.ts";
import { createReplies, type Replies } from "../shared/replies.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { answerStatus } from "../shared/status-responder.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { type Geo, openGeo } from "../shared/visitors/geo.ts";
import { parseAgent } from "../shared/visitors/user-agent.ts";
import { createBatchLog, createManifestReader } from "./batches/clickhouse-log.ts";
import { findStored, readHistory, readRows } from "./batches/clicks-table.ts";
import { createRepairs, type Repairs } from "./batches/repair.ts";
import { checks, migrateChecks } from "./checks.ts";
import { COMPARISON_TIMEOUT_MS, isRejected, openClickHouse } from "./clickhouse.ts";
import { type Config, configSchema, geoipConfigSchema, migrateConfigSchema } from "./config.ts";
import { startConsistencyCheck } from "./consistency-check.ts";
import { type Consumer, startConsumer } from "./consumer/consumer.ts";
import { insertRows } from "./consumer/row-insert.ts";
import { type Counters, startCounters } from "./counters.ts";
import { watchDiskRoom } from "./disk-room.ts";
import { createEnricher } from "./enrich/rows.ts";
import { createVisitorHash } from "./enrich/visitor.ts";
import { type ClickRecorder, startClickRecorder } from "./events/recorder.ts";
import { startFailureIntake } from "./failures/intake.ts";
import { insertReport } from "./failures/store.ts";
import { updateDatabase } from "./geoip-update.ts";
import { createMetrics } from "./metrics.ts";
import { migrate } from "./migrate.ts";
import { clusterSchema } from "./migrations/cluster.ts";
import { migrations } from "./migrations/index.ts";
import { statementsOf } from "./migrations/migrate.ts";
import { openPostgres } from "./postgres.ts";
import { startWebhooks } from "./webhooks/start.ts";

async function runWorker(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("worker", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);
  const metrics = createMetrics();

  const { clickhouse, sql, nats } = openConnections(config, lifecycle, log);
  const geo = await openConfiguredGeo(config, log);
  const counters = startCounters({ sql, clickhouse, log });
  lifecycle.onStop("counters", () => counters.stop());
  const repairs = createRepairs({ sql, clickhouse, log, onRebuilt: counters.correct });
  const recorder = startRecorder(config, clickhouse, lifecycle, log);
  const parts = { clickhouse, nats, geo, counters, recorder, repairs, metrics, log };
  const consumer = startConfiguredConsumer(config, parts);
  lifecycle.onStop("consumer", () => consumer.stop());
  const comparing = openClickHouse(config.CLICKHOUSE_URL, COMPARISON_TIMEOUT_MS);
  lifecycle.onStop("clickhouse of the consistency check", () => comparing.close());
  const audit = startConsistencyCheck({
    clickhouse: comparing,
    log,
    repairs,
    ownerEpoch: () => consumer.owner()?.epoch,
  });
  lifecycle.onStop("consistency check", () => audit.stop());

  const replies = createReplies(log);
  const failureReports = startFailureIntake({
    nats: nats.connection,
    replies,
    store: (report) => insertReport(clickhouse, report),
    log,
  });
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: [CLICKS_STREAM, DEAD_LETTERS_STREAM],
    expected: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);

  const room = watchDiskRoom({ clickhouse, log });
  lifecycle.onStop("disk watch", room.stop);

  const webhooks = startWebhooks({ config, lifecycle, metrics, log });
  metrics.watch({ consumer, counters, recorder, audit, geo, failureReports, replies });
  const health = {
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      clicks: consumer.state(),
      counters: counters.state(),
    }),
    warnings: () => ({
      replicas: replicas.warning(),
      clickhouse: consumer.warning() ?? room.warning(),
      webhooks: webhooks.warning(),
    }),
  };
  reportStatus({ nats, replies, health, consumer, log });
  const internal = startInternalServer({
    host: config.WORKER_METRICS_HOST,
    port: config.WORKER_METRICS_PORT,
    registry: metrics.registry,
    health,
  });
  lifecycle.onStop("internal server", () => internal.stop());
  const geoip = geo.databases().map(({ path, built }) => `${path} of ${built.toISOString()}`);
  log.info({ internal_url: internal.url.origin, geoip }, "listening");
  notifier.ready();
}

/** Opens the GeoIP databases; logs each that is missing. */
const openConfiguredGeo = ({ GEOIP_DATABASES }: Config, log: Log): Promise<Geo> =>
  openGeo(GEOIP_DATABASES, (path, error) => log.warn({ path, error }, "geoip_database_missing"));

function openConnections(config: Config, lifecycle: Lifecycle, log: Log) {
  const clickhouse = openClickHouse(config.CLICKHOUSE_URL);
  lifecycle.onStop("clickhouse", () => clickhouse.close());
  const sql = openPostgres(config.DATABASE_URL, lifecycle, {
    part: "postgres",
    name: "shorthop-worker",
    max: 2,
  });
  const nats = openNats({ url: config.NATS_URL, files: config, name: "worker", log });
  lifecycle.onStop("nats", nats.close);
  return { clickhouse, sql, nats };
}

/** Starts recording clicks as events, on a connection of its own. */
function startRecorder(
  config: Config,
  clickhouse: ReturnType<typeof openClickHouse>,
  lifecycle: Lifecycle,
  log: Log,
): ClickRecorder {
  const sql = openPostgres(config.DATABASE_URL, lifecycle, {
    part: "postgres of the ledger",
    name: "shorthop-worker-events",
    max: 1,
  });
  const recorder = startClickRecorder({
    sql,
    readManifests: createManifestReader(clickhouse),
    readRows: (segments, span) => readRows(clickhouse, segments, span),
    log,
  });
  lifecycle.onStop("click events", recorder.stop);
  return recorder;
}

type ConsumerParts = {
  clickhouse: ReturnType<typeof openClickHouse>;
  nats: Nats;
  geo: Geo;
  counters: Counters;
  recorder: ClickRecorder;
  repairs: Repairs;
  metrics: ReturnType<typeof createMetrics>;
  log: Log;
};

/** Starts the consumer, which stores clicks while this worker is their owner. */
const startConfiguredConsumer = (
  config: Config,
  { clickhouse, nats, geo, counters, recorder, repairs, metrics, log }: ConsumerParts,
): Consumer =>
  startConsumer({
    nats: nats.connection,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    streamReplicas: config.NATS_REPLICAS,
    log,
    enrich: createEnricher({
      geo,
      parseAgent,
      visitorHash: createVisitorHash(config.VISITOR_HASH_SECRET),
      anonymousVisitors: config.PRIVACY_SIGNAL === "anonymous",
      ownHosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    }),
    batches: {
      log: createBatchLog(clickhouse),
      insert: (token, rows) => metrics.timeInsert(() => insertRows(clickhouse, token, rows)),
      isRejected,
      findStored: (segments, span) => findStored(clickhouse, segments, span),
      readRows: (segments, span) => readRows(clickhouse, segments, span),
      readHistory: () => readHistory(clickhouse),
      onSettled: counters.recount,
    },
    repair: repairs.repair,
    onStored: counters.touch,
    onRows: recorder.add,
    onTakenOver(place) {
      counters.recount();
      recorder.takeOver(place);
    },
    onBatch: metrics.observeBatch,
    count: metrics.count,
  });

type StatusParts = {
  nats: Nats;
  replies: Replies;
  health: HealthSource;
  consumer: Consumer;
  log: Log;
};

/** Responds to the command line's requests for the status of this process. */
const reportStatus = ({ nats, consumer, ...parts }: StatusParts): void =>
  answerStatus({
    ...parts,
    nats: nats.connection,
    process: "worker",
    figures: () => ({
      owner: consumer.owner() !== undefined,
      owner_epoch: consumer.owner()?.epoch,
      clicks_lag_seconds: consumer.lagSeconds(),
      segments_pending: consumer.state() === "ok" ? consumer.pending() : undefined,
    }),
  });

/** Downloads the GeoIP databases; fails when one of them cannot be updated. */
async function updateGeoip(): Promise<void> {
  const { GEOIP_DATABASES, GEOIP_URLS } = loadConfig(geoipConfigSchema, process.env);
  for (const [i, path] of GEOIP_DATABASES.entries())
    console.log(await updateDatabase(GEOIP_URLS[i] ?? "", path));
}

/** Prints the schema for a cluster, for an operator to review and run. */
async function printClusterSchema(): Promise<void> {
  const statements = migrations.flatMap(({ text }) => statementsOf(text));
  const cluster = { name: process.argv[3] ?? "shorthop" };
  console.log(
    clusterSchema(statements, cluster)
      .map((statement) => `${statement};`)
      .join("\n\n"),
  );
}

const { check, doctor } = createCheckCommands(configSchema, process.env, checks);
const migrating = createCheckCommands(migrateConfigSchema, process.env, migrateChecks);

await runMain(
  {
    "": runWorker,
    migrate: () => migrate(process.env),
    check,
    doctor,
    "doctor-migrate": migrating.doctor,
    "geoip-update": updateGeoip,
    "cluster-schema": printClusterSchema,
  },
  process.argv.slice(2),
);

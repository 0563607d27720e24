/**
 * The worker process. `bun worker/main.ts` runs it. The argument `migrate` updates the schema and exits, `check`
 * reports whether the worker could start, `cluster-schema NAME` prints the schema for a cluster.
 */
import postgres from "postgres";

import { loadConfig } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLog } from "../shared/log.ts";
import { openNats, probeNats } from "../shared/nats.ts";
import { runPreflight } from "../shared/preflight.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { createBatchLog } from "./batches/clickhouse-log.ts";
import { findStored, insertBatch, readHistory } from "./batches/clicks-table.ts";
import { createRepairs } from "./batches/repair.ts";
import { isRejected, openClickHouse } from "./clickhouse.ts";
import { configSchema, migrateConfigSchema } from "./config.ts";
import { startConsistencyCheck } from "./consistency-check.ts";
import { startConsumer } from "./consumer.ts";
import { startCounters } from "./counters.ts";
import { createEnrich } from "./enrich/enrich.ts";
import { openGeo } from "./enrich/geo.ts";
import { createAgentParser } from "./enrich/user-agent.ts";
import { createVisitorHash } from "./enrich/visitor.ts";
import { createMetrics } from "./metrics.ts";
import { clusterSchema } from "./migrations/cluster.ts";
import { migrations } from "./migrations/index.ts";
import { migrateClickHouse, statementsOf } from "./migrations/migrate.ts";
import { setRetention } from "./migrations/retention.ts";
import { createRowsOf } from "./segment-rows.ts";

/** Connects to PostgreSQL and runs an empty query; throws when that fails. */
const probePostgres = (url: string) => async (): Promise<void> => {
  const sql = postgres(url, { max: 1, connect_timeout: 3, onnotice: () => undefined });
  try {
    await sql`select 1`;
  } finally {
    await sql.end({ timeout: 1 });
  }
};

async function migrate(): Promise<void> {
  const config = loadConfig(migrateConfigSchema, process.env);
  const client = openClickHouse(config.CLICKHOUSE_URL);
  await migrateClickHouse(client, createLog("worker", config.LOG_LEVEL));
  await setRetention(client, {
    clicksDays: config.CLICKS_RETENTION_DAYS,
    rollupsDays: config.ROLLUPS_RETENTION_DAYS,
  });
  await client.close();
}

async function runWorker(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("worker", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);
  const metrics = createMetrics();

  const clickhouse = openClickHouse(config.CLICKHOUSE_URL);
  lifecycle.onStop("clickhouse", () => clickhouse.close());
  const sql = postgres(config.DATABASE_URL, {
    max: 2,
    connect_timeout: 2,
    backoff: () => 1,
    onnotice: () => undefined,
    connection: { application_name: "shorthop-worker" },
  });
  lifecycle.onStop("postgres", () => sql.end({ timeout: 2 }));
  const nats = openNats({ url: config.NATS_URL, name: "worker", log });
  lifecycle.onStop("nats", nats.close);
  const geo = await openGeo(config.GEOIP_DATABASES, (path, error) =>
    log.warn({ path, error }, "geoip_database_missing"),
  );
  const counters = startCounters({ sql, clickhouse, log });
  lifecycle.onStop("counters", () => counters.stop());
  const audit = startConsistencyCheck({ sql, clickhouse, log });
  lifecycle.onStop("consistency check", () => audit.stop());
  const repairs = createRepairs({ sql, clickhouse, log });
  const enrich = createEnrich({
    geo,
    parseAgent: createAgentParser(),
    visitorHash: createVisitorHash(config.VISITOR_HASH_SECRET),
    anonymousVisitors: config.PRIVACY_SIGNAL === "anonymous",
    ownHosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
  });
  const consumer = startConsumer({
    nats: nats.connection,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    log,
    rowsOf: createRowsOf(enrich),
    batches: {
      log: createBatchLog(clickhouse),
      insert: (token, rows) => metrics.timeInsert(() => insertBatch(clickhouse, token, rows)),
      isRejected,
      findStored: (segments, span) => findStored(clickhouse, segments, span),
      readHistory: () => readHistory(clickhouse),
      repair: repairs.repair,
      onSettled: counters.recount,
    },
    onStored: counters.touch,
    onBatch: metrics.observeBatch,
    count: metrics.count,
  });
  lifecycle.onStop("consumer", () => consumer.stop());

  metrics.watch({ consumer, counters, audit, repairs, geo });
  const internal = startInternalServer({
    host: config.WORKER_METRICS_HOST,
    port: config.WORKER_METRICS_PORT,
    registry: metrics.registry,
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      clicks: consumer.state(),
      counters: counters.state(),
    }),
  });
  lifecycle.onStop("internal server", () => internal.stop());
  const geoip = geo.databases().map(({ path, built }) => `${path} of ${built.toISOString()}`);
  log.info({ internal_url: internal.url.origin, geoip }, "listening");
  notifier.ready();
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

async function check(): Promise<void> {
  const code = await runPreflight(configSchema, process.env, (config) => ({
    DATABASE_URL: probePostgres(config.DATABASE_URL),
    NATS_URL: probeNats(config.NATS_URL),
    CLICKHOUSE_URL: () => openClickHouse(config.CLICKHOUSE_URL).query({ query: "SELECT 1" }),
    GEOIP_DATABASES: () =>
      openGeo(config.GEOIP_DATABASES, (path) => {
        throw new Error(`${path} cannot be read`);
      }),
  }));
  // Connections that the probes opened would keep the process alive.
  process.exit(code);
}

await runMain(
  { "": runWorker, migrate, check, "cluster-schema": printClusterSchema },
  process.argv.slice(2),
);

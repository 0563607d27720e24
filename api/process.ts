/** An API process: its connections, its sites, and its work in the background. */
import { join } from "node:path";

import { createClientAddress } from "../shared/client-address.ts";
import { CLIENT_FILE } from "../shared/contracts/client-file.ts";
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { metricsPort } from "../shared/env.ts";
import { watchEventLoop } from "../shared/event-loop.ts";
import type { HealthSource } from "../shared/health.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import { SNAPSHOTS_STREAM } from "../shared/links-log/snapshot-stream.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import type { Log } from "../shared/log.ts";
import { type Nats, openNats } from "../shared/nats.ts";
import { createReplies } from "../shared/replies.ts";
import { answerStatus } from "../shared/status-responder.ts";
import { watchReadability } from "../shared/stream-readability.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { version } from "../shared/version.ts";
import { createApp } from "./app.ts";
import { readBackups } from "./backups/service.ts";
import { MeasuredClickHouse, openClickHouse } from "./clickhouse.ts";
import { type Config, METRICS_PORTS } from "./config.ts";
import { startDashboard } from "./dashboard/server.ts";
import type { DomainService } from "./domains/service.ts";
import { createFullDisk, DATABASE_FULL, type FullDisk } from "./full-disk.ts";
import type { CompletedRequest } from "./http/metrics-plugin.ts";
import { listenOptions, stopSite } from "./http/site-server.ts";
import { warnOfUntrustedProxy } from "./http/untrusted-proxy.ts";
import { describeOutbox, readOutbox } from "./links-log/outbox.ts";
import { LinksLogPublisher } from "./links-log/publisher.ts";
import { SnapshotMaker } from "./links-snapshots/snapshot-maker.ts";
import { readDelay } from "./mail/queue.ts";
import { cleanUpExpiredRows } from "./maintenance/expired-rows.ts";
import { createMetrics } from "./metrics.ts";
import { schemaState } from "./migrations/applied.ts";
import { readOrigins } from "./origins.ts";
import { openPostgres, type Sql } from "./postgres.ts";
import { createServices } from "./services.ts";
import { createStores } from "./stores.ts";
import { startTracing } from "./tracing.ts";
import { lagWarning, readLag } from "./webhooks/lag.ts";

/** Where an API process listens; the dashboard only if it is configured. */
export type Listening = {
  url: string | undefined;
  internal_url: string;
  dashboard_url: string | undefined;
};

/** Starts everything, and stops it with the process. */
export async function startApi(config: Config, lifecycle: Lifecycle, log: Log): Promise<Listening> {
  const { sql, clickhouse, nats } = openConnections(config, lifecycle, log);
  const linksLog = startLinksLog({ config, sql, nats, lifecycle, log });
  const { publisher, snapshots } = linksLog;
  const cleanup = cleanUpExpiredRows(sql, log);
  lifecycle.onStop("expired row cleanup", () => void cleanup.stop());

  const replies = createReplies(log);
  const backups = () => readBackups(sql);
  const mailDelay = () => readDelay(sql);
  const webhooksLag = () => readLag(sql);
  const outbox = () => readOutbox(sql);
  const metrics = createMetrics({ outbox, snapshots, backups, mailDelay, webhooksLag, replies });
  const { registry, observe, observeMail, watchLoad } = metrics;
  const tracing = await startConfiguredTracing(config, lifecycle);
  const reads = new MeasuredClickHouse(clickhouse, registry);
  const services = createServices({
    config,
    sql,
    clickhouse: reads,
    nats,
    publisher,
    lifecycle,
    log,
    observeMail,
  });
  watchLoad({ ...services, passwords: services.common.passwords });
  const fullDisk = createFullDisk();
  const eventLoop = watchEventLoop(registry);
  const sites = startSites(config, services, {
    sql,
    lifecycle,
    log,
    onFailure: fullDisk.record,
    isBehind: eventLoop.isBehind,
    observe(completed) {
      observe(completed);
      tracing?.observe(completed);
    },
  });

  const health = createHealth({ sql, lifecycle, fullDisk, ...linksLog });
  answerStatus({
    nats: nats.connection,
    replies,
    process: "api",
    instance: config.INSTANCE,
    health,
    figures: async () => ({ outbox_pending: (await outbox()).pending }),
    log,
  });
  const internal = startInternalServer({
    host: config.API_METRICS_HOST,
    port: metricsPort(config.API_METRICS_PORT, config.INSTANCE, METRICS_PORTS),
    registry,
    health,
    eventLoop,
    routes: createDomainQuery(services.hosts, services.common.domains),
  });
  lifecycle.onStop("internal server", () => internal.stop());
  const { url, dashboard_url } = sites;
  const listening = { url, internal_url: internal.url.origin, dashboard_url };
  log.info(listening, "listening");
  return listening;
}

function openConnections(config: Config, lifecycle: Lifecycle, log: Log) {
  const sql = openPostgres(config.DATABASE_URL, config.DATABASE_CONNECTIONS_MAX);
  lifecycle.onStop("postgres", () => sql.end({ timeout: 5 }));
  const clickhouse = openClickHouse(config.CLICKHOUSE_URL);
  lifecycle.onStop("clickhouse", () => clickhouse.close());
  const nats = openNats({ url: config.NATS_URL, files: config, name: "api", log });
  lifecycle.onStop("nats", nats.close);
  return { sql, clickhouse, nats };
}

type LinksLogDeps = { config: Config; sql: Sql; nats: Nats; lifecycle: Lifecycle; log: Log };

/** Starts what publishes the links log and makes snapshots of it, and watches its streams. */
function startLinksLog({ config, sql, nats, lifecycle, log }: LinksLogDeps) {
  const { connection } = nats;
  const replicas = config.NATS_REPLICAS;
  const publisher = new LinksLogPublisher(sql, connection, replicas, log);
  lifecycle.onStop("links log", () => publisher.stop());
  const snapshots = new SnapshotMaker(sql, connection, publisher, replicas, log);
  lifecycle.onStop("snapshots", () => snapshots.stop());
  const streams = [LINK_LOG_STREAM, SNAPSHOTS_STREAM];
  const replicaWatch = watchReplicas({ nats: connection, streams, expected: replicas, log });
  lifecycle.onStop("replica watch", replicaWatch.stop);
  const readability = watchReadability({
    nats: connection,
    streams: [...streams, CLICKS_STREAM],
    log,
  });
  lifecycle.onStop("readability watch", readability.stop);
  return { publisher, snapshots, replicas: replicaWatch, readability };
}

/** Starts tracing; undefined when no collector is configured. */
async function startConfiguredTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: collector }: Config,
  lifecycle: Lifecycle,
) {
  if (collector === undefined) return undefined;
  const tracing = await startTracing(collector, version);
  lifecycle.onStop("tracing", () => tracing.stop());
  return tracing;
}

type SitesDeps = {
  sql: Sql;
  lifecycle: Lifecycle;
  log: Log;
  onFailure: (error: unknown) => void;
  isBehind: () => boolean;
  observe: (completed: CompletedRequest) => void;
};

/** Starts /v1 and, if it is configured, the dashboard. Returns their URLs. */
function startSites(
  config: Config,
  { common, live, waits }: ReturnType<typeof createServices>,
  { sql, lifecycle, log, onFailure, isBehind, observe }: SitesDeps,
) {
  const deps = {
    ...common,
    log,
    stores: createStores(sql),
    clientAddress: createClientAddress(config.TRUSTED_PROXIES, warnOfUntrustedProxy(log)),
    apiUrl: readOrigins(config).apiUrl,
    isStopping: lifecycle.stopping,
    isBehind,
    observe,
  };
  const clientFile = join(config.DASHBOARD_DIR, CLIENT_FILE);
  const app = createApp({ ...deps, onFailure, clientFile, corsOrigins: config.API_CORS_ORIGINS });
  const shared = config.INSTANCE !== undefined;
  app.listen({ hostname: config.API_HOST, port: config.API_PORT, ...listenOptions(shared) });
  lifecycle.onStop("server", () => stopSite(app.server, shared));
  const dashboard = startDashboard(config, { ...deps, sql });
  if (dashboard !== undefined) lifecycle.onStop("dashboard", dashboard.stop);
  // Stops before the servers, which wait for their open connections.
  lifecycle.onStop("live streams", live.stop);
  lifecycle.onStop("waits for events", waits.stop);
  return { url: app.server?.url.origin, dashboard_url: dashboard?.url };
}

/** An empty database in place of the right one publishes nothing. */
const OTHER_DATABASE = `PostgreSQL has no account, and the stream ${LINK_LOG_STREAM} has links of another database, which stay as they are: mount the disk of the right database, or restore it; to start again, delete the stream`;

type HealthDeps = ReturnType<typeof startLinksLog> & {
  sql: Sql;
  lifecycle: Lifecycle;
  fullDisk: FullDisk;
};

const createHealth = ({
  sql,
  lifecycle,
  fullDisk,
  publisher,
  snapshots,
  replicas,
  readability,
}: HealthDeps): HealthSource => ({
  readiness: async () => ({
    process: lifecycle.stopping() ? "stopping" : "ok",
    postgres: await schemaState(sql).catch(() => "unreachable"),
    links_feed: publisher.head === undefined ? "not connected yet" : "ok",
  }),
  warnings: async () => ({
    links_feed: publisher.isSilent ? OTHER_DATABASE : undefined,
    outbox: await readOutbox(sql).then(describeOutbox, () => undefined),
    postgres: publisher.isDatabaseFull ? DATABASE_FULL : fullDisk.problem(),
    links_snapshots: snapshots.problem,
    replicas: replicas.warning(),
    streams: readability.warning(),
    webhooks: await lagWarning(sql),
  }),
});

/** The route that Caddy queries before it issues a certificate for a host. */
const createDomainQuery = (
  hosts: ReadonlySet<string>,
  domains: Pick<DomainService, "isCustom">,
) => ({
  "/domains/ask": async (request: Request) => {
    const url = URL.parse(request.url);
    // The URL contains the Host header, which may be invalid.
    if (url === null) return new Response(null, { status: 400 });
    const host = url.searchParams.get("domain") ?? "";
    const ours = hosts.has(host) || (await domains.isCustom(host));
    return new Response(null, { status: ours ? 200 : 404 });
  },
});

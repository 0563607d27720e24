/**
 * The API process. `bun api/main.ts` serves; with `migrate` it migrates the schema and exits, with `check` it
 * reports whether it could start.
 */
import { createClientAddress } from "../shared/client-address.ts";
import { loadConfig, metricsPort } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { openImages } from "../shared/links-store/images.ts";
import { createLog } from "../shared/log.ts";
import { openNats } from "../shared/nats.ts";
import { createCheckCommands } from "../shared/preflight.ts";
import { createReplies } from "../shared/replies.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { answerStatus } from "../shared/status-responder.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { version } from "../shared/version.ts";
import { createClickPoller } from "./analytics/click-poller.ts";
import { createFailureService } from "./analytics/failures/service.ts";
import { createLiveRowReader } from "./analytics/live-rows.ts";
import { createLiveClicks } from "./analytics/live.ts";
import { createAnalyticsService, type IsAlive } from "./analytics/service.ts";
import { createApp } from "./app.ts";
import { checks, migrateChecks } from "./checks.ts";
import { countReads, openClickHouse } from "./clickhouse.ts";
import { createClicksService } from "./clicks/service.ts";
import { configSchema, METRICS_PORTS, migrateConfigSchema } from "./config.ts";
import { startDashboard } from "./dashboard/server.ts";
import { createTxtReader } from "./domains/dns.ts";
import { startProofChecks } from "./domains/proof-checks.ts";
import { createDomainService } from "./domains/service.ts";
import { startFeedWatches } from "./feed/feed-watches.ts";
import { startLinkPublisher } from "./feed/link-publisher.ts";
import { createSpentClicksReader } from "./feed/spent-clicks.ts";
import { createFullDisk } from "./full-disk.ts";
import type { CompletedRequest } from "./http/metrics-plugin.ts";
import { listenOptions, stopSite } from "./http/site-server.ts";
import { warnOfUntrustedProxy } from "./http/untrusted-proxy.ts";
import { createKeyService } from "./keys/service.ts";
import { createStreamLeases } from "./limits/stream-leases.ts";
import { createFillStream } from "./links/republish/fill.ts";
import { startImages } from "./links/republish/image-job.ts";
import { startRepublishing } from "./links/republish/job.ts";
import { startUtmRepublishing } from "./links/republish/utm.ts";
import { createLinkService } from "./links/service.ts";
import { requireDestination } from "./links/validation.ts";
import { startExpiredRowCleanup } from "./maintenance/expired-rows.ts";
import { createMetrics } from "./metrics.ts";
import { migrate } from "./migrate.ts";
import { schemaState } from "./migrations/applied.ts";
import { createPasswordHashing } from "./passwords/hashing.ts";
import { openPostgres } from "./postgres.ts";
import { createSharedService } from "./shares/reading.ts";
import { createShareService } from "./shares/service.ts";
import { createStores } from "./stores.ts";
import { createTagService } from "./tags/service.ts";
import { startTracing } from "./tracing.ts";

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("api", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);

  const sql = openPostgres(config.DATABASE_URL, config.DATABASE_CONNECTIONS_MAX);
  lifecycle.onStop("postgres", () => sql.end({ timeout: 5 }));
  const clickhouse = openClickHouse(config.CLICKHOUSE_URL);
  lifecycle.onStop("clickhouse", () => clickhouse.close());
  const nats = openNats({ url: config.NATS_URL, name: "api", log });
  lifecycle.onStop("nats", nats.close);
  const { published: streams, followed } = config.LINKS_STREAMS;
  const feed = startLinkPublisher({
    sql,
    nats: nats.connection,
    inboxPrefix: nats.inboxPrefix,
    streamReplicas: config.NATS_REPLICAS,
    streams,
    log,
  });
  lifecycle.onStop("link feed", feed.stop);
  const watch = startFeedWatches({
    sql,
    nats: nats.connection,
    streamReplicas: config.NATS_REPLICAS,
    fill: createFillStream({ sql, feed }),
    takeAcknowledged: feed.takeAcknowledged,
    streams,
    log,
  });
  lifecycle.onStop("feed watch", watch.stop);
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: streams.map(({ name }) => name),
    wanted: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);

  const place = openImages(config);
  const images =
    place === undefined
      ? undefined
      : startImages({
          sql,
          nats: nats.connection,
          images: place,
          streams: followed,
          log,
        });
  if (images !== undefined) lifecycle.onStop("images", images.stop);
  lifecycle.onStop("UTM republishing", startUtmRepublishing(sql, log).stop);
  lifecycle.onStop("expired row cleanup", startExpiredRowCleanup(sql, log));

  const replies = createReplies(log);
  const { registry, observe, watchLoad } = createMetrics({ feed, watch, images, replies });
  const tracing =
    config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? undefined
      : await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, version);
  if (tracing !== undefined) lifecycle.onStop("tracing", () => tracing.stop());
  const shortUrl = new URL(config.SHORT_URL);
  const hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
  const destinationRules = {
    allowPrivate: config.ALLOW_PRIVATE_TARGETS,
    shortUrl,
    ownHosts: hosts,
  };
  const readTxt = createTxtReader(config.DNS_SERVERS);
  const domains = createDomainService({
    sql,
    feed,
    readTxt,
    ownHosts: hosts,
    checkDestination: async (url) =>
      (await requireDestination(url, { destinationRules, domains })).original,
  });
  const passwords = createPasswordHashing();
  const readSpentClicks = createSpentClicksReader(nats, log);
  const links = createLinkService({
    sql,
    feed,
    domains,
    destinationRules,
    passwords,
    readSpentClicks,
  });
  lifecycle.onStop("proof checks", startProofChecks(domains, log));
  lifecycle.onStop("republishing", startRepublishing({ sql, feed, domains, log }));
  const keys = createKeyService({ sql });
  const reads = countReads(clickhouse, registry);
  const leases = createStreamLeases({ sql, log });
  lifecycle.onStop("stream leases", leases.stop);
  const poller = createClickPoller({ readRows: createLiveRowReader(reads), log });
  const live = createLiveClicks({ poller, leases });
  watchLoad({ passwords, poller, live });
  const analyticsFor = (isAlive: IsAlive) =>
    createAnalyticsService({
      clickhouse: reads,
      links,
      live,
      isAlive,
      clicksRetentionDays: config.CLICKS_RETENTION_DAYS,
    });
  const analytics = analyticsFor(keys.isAlive);
  const common = {
    log,
    stores: createStores(sql),
    clientAddress: createClientAddress(config.TRUSTED_PROXIES, warnOfUntrustedProxy(log)),
    links,
    domains,
    keys,
    passwords,
    analyticsFor,
    failures: createFailureService({ clickhouse: reads, links, domains }),
    clicks: createClicksService({ clickhouse: reads, analytics }),
    shares: createShareService({ sql, links, passwords }),
    tags: createTagService({ sql }),
    shared: createSharedService({ sql, analytics, links, passwords, shortUrl: shortUrl.origin }),
    shortUrl: shortUrl.origin,
    apiUrl: config.API_URL === undefined ? undefined : new URL(config.API_URL).origin,
    isStopping: lifecycle.stopping,
    observe(completed: CompletedRequest) {
      observe(completed);
      tracing?.observe(completed);
    },
  };
  const fullDisk = createFullDisk();
  const app = createApp({
    ...common,
    analytics,
    onFailure: fullDisk.record,
    corsOrigins: config.API_CORS_ORIGINS,
  });
  const shared = config.INSTANCE !== undefined;
  app.listen({ hostname: config.API_HOST, port: config.API_PORT, ...listenOptions(shared) });
  lifecycle.onStop("server", () => stopSite(app.server, shared));
  const dashboard = startDashboard(config, { ...common, sql });
  if (dashboard !== undefined) lifecycle.onStop("dashboard", dashboard.stop);
  // Stops before the servers, which wait for their open connections.
  lifecycle.onStop("live streams", live.stop);

  const health = {
    readiness: async () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      postgres: await schemaState(sql).catch(() => "unreachable"),
      links_feed: feed.connected() && watch.started() ? "ok" : "not connected yet",
    }),
    warnings: async () => ({
      links_feed: watch.problem(),
      outbox: await feed.outboxWarning(),
      postgres: watch.databaseProblem() ?? fullDisk.problem(),
      links_images: images?.problem(),
      replicas: replicas.warning(),
    }),
  };
  answerStatus({
    nats: nats.connection,
    replies,
    process: "api",
    instance: config.INSTANCE,
    health,
    figures: async () => ({ outbox_pending: (await feed.outboxStats()).pending }),
    log,
  });
  const internal = startInternalServer({
    host: config.API_METRICS_HOST,
    port: metricsPort(config.API_METRICS_PORT, config.INSTANCE, METRICS_PORTS),
    registry,
    health,
    // Caddy queries it before it issues a certificate.
    routes: {
      "/domains/ask": async (request) => {
        const url = URL.parse(request.url);
        // The URL contains the Host header, which may be invalid.
        if (url === null) return new Response(null, { status: 400 });
        const host = url.searchParams.get("domain") ?? "";
        const ours = hosts.has(host) || (await domains.isCustom(host));
        return new Response(null, { status: ours ? 200 : 404 });
      },
    },
  });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info(
    {
      url: app.server?.url.origin,
      internal_url: internal.url.origin,
      dashboard_url: dashboard?.url,
    },
    "listening",
  );
  notifier.ready();
}

const { check, doctor } = createCheckCommands(configSchema, process.env, checks);
const migrating = createCheckCommands(migrateConfigSchema, process.env, migrateChecks);

await runMain(
  {
    "": serve,
    migrate: () => migrate(process.env),
    check,
    doctor,
    "doctor-migrate": migrating.doctor,
  },
  process.argv.slice(2),
);

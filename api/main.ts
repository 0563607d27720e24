/**
 * The API process. `bun api/main.ts` serves; with `migrate` it updates the schema and exits, with `check` it
 * says whether it could start.
 */
import { checkConfig } from "../shared/check.ts";
import { createClientAddress } from "../shared/client-address.ts";
import { loadConfig } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLog } from "../shared/log.ts";
import { openNats, probeNats } from "../shared/nats.ts";
import { createNotifier } from "../shared/notify.ts";
import { version } from "../shared/version.ts";
import { createAnalyticsService, type IsAlive } from "./analytics/service.ts";
import { createApp } from "./app.ts";
import { countReads, openClickHouse } from "./clickhouse.ts";
import { configSchema, migrateConfigSchema } from "./config.ts";
import { startDashboard } from "./dashboard/server.ts";
import { createTxtReader } from "./domains/dns.ts";
import { createDomainService } from "./domains/service.ts";
import { startLinkFeed } from "./feed/link-feed.ts";
import { LISTENING } from "./http/listening.ts";
import type { Answered } from "./http/metrics-plugin.ts";
import { createKeyService } from "./keys/service.ts";
import { startCleaning } from "./limits/cleaning.ts";
import { createLinkService } from "./links/service.ts";
import { createMetrics } from "./metrics.ts";
import { migratePostgres } from "./migrations/migrate.ts";
import { openPostgres } from "./postgres.ts";
import { startTracing } from "./tracing.ts";

async function migrate(): Promise<void> {
  const config = loadConfig(migrateConfigSchema, process.env);
  const sql = openPostgres(config.DATABASE_URL, 1);
  await migratePostgres(sql, createLog("api", config.LOG_LEVEL));
  await sql.end();
}

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
  const feed = startLinkFeed({ sql, nats: nats.connection, log });
  lifecycle.onStop("link feed", feed.stop);

  lifecycle.onStop("cleaning", startCleaning(sql, log));

  const { registry, observe } = createMetrics(sql);
  const tracing =
    config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? undefined
      : await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, version);
  if (tracing !== undefined) lifecycle.onStop("tracing", () => tracing.stop());
  const shortUrl = new URL(config.SHORT_URL);
  const hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
  const targetRules = { allowPrivate: config.ALLOW_PRIVATE_TARGETS, shortUrl, ownHosts: hosts };
  const readTxt = createTxtReader(config.DNS_SERVERS);
  const domains = createDomainService({ sql, readTxt, ownHosts: hosts });
  const links = createLinkService({ sql, feed, domains, targetRules });
  const keys = createKeyService({ sql });
  const reads = countReads(clickhouse, registry);
  const common = {
    log,
    sql,
    clientAddress: createClientAddress(config.TRUSTED_PROXIES),
    links,
    domains,
    keys,
    analyticsFor: (isAlive: IsAlive) =>
      createAnalyticsService({
        clickhouse: reads,
        links,
        isAlive,
        clicksRetentionDays: config.CLICKS_RETENTION_DAYS,
      }),
    shortUrl: shortUrl.origin,
    observe(answered: Answered) {
      observe(answered);
      tracing?.observe(answered);
    },
  };
  const app = createApp({ ...common, analytics: common.analyticsFor(keys.isAlive) });
  app.listen({ hostname: config.API_HOST, port: config.API_PORT, ...LISTENING });
  lifecycle.onStop("server", () => app.server?.stop());
  const dashboard = startDashboard(config, common);
  if (dashboard !== undefined) lifecycle.onStop("dashboard", dashboard.stop);

  const internal = startInternalServer({
    host: config.API_METRICS_HOST,
    port: config.API_METRICS_PORT,
    registry,
    readiness: async () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      postgres: await sql`select 1`.then(
        () => "ok",
        () => "unreachable",
      ),
      links_feed: feed.connected() ? "ok" : "not connected yet",
    }),
    // What Caddy asks before it has a certificate made.
    routes: {
      "/domains/ask": async (request) => {
        const host = new URL(request.url).searchParams.get("domain") ?? "";
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

async function check(): Promise<void> {
  const code = await checkConfig(configSchema, process.env, (config) => ({
    DATABASE_URL: async () => {
      const sql = openPostgres(config.DATABASE_URL, 1);
      try {
        await sql`select 1`;
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
    NATS_URL: probeNats(config.NATS_URL),
    CLICKHOUSE_URL: () => openClickHouse(config.CLICKHOUSE_URL).query({ query: "SELECT 1" }),
  }));
  // What was opened to look at it is not waited for.
  process.exit(code);
}

await runMain({ "": serve, migrate, check }, process.argv.slice(2));

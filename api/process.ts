/** Runs an API process: the links log, the services, the sites, and what operators ask of it. */
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { metricsPort } from "../shared/env.ts";
import { type HealthSource, InternalServer } from "../shared/internal-server.ts";
import { LogSigner } from "../shared/links-log/signature.ts";
import { SNAPSHOTS_STREAM } from "../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { answerStatus } from "../shared/status.ts";
import { ReadabilityWatch, ReplicaWatch } from "../shared/stream-checks.ts";
import { apiSite } from "./app.ts";
import { METRICS_PORTS } from "./config.ts";
import type { ApiContext } from "./context.ts";
import { listenDashboard } from "./dashboard/app.ts";
import { describeOutbox, readOutbox } from "./links-log/log.ts";
import { LinksLogPublisher } from "./links-log/publisher.ts";
import { SnapshotMaker } from "./links-snapshots/snapshot-maker.ts";
import { schemaState } from "./migrations/migrate.ts";
import type { OidcService } from "./oidc/service.ts";
import { Services } from "./services.ts";
import { listenOptions, stopSite } from "./site.ts";
import { lagWarning } from "./webhooks/service.ts";

/** Where an API process listens; the dashboard only if it is configured. */
export type Listening = {
  url: string | undefined;
  internal_url: string;
  dashboard_url: string | undefined;
};

/** Runs everything until the process stops; returns where it listens. */
export function runApi(context: ApiContext): Listening {
  const linksLog = new LinksLog(context);
  const services = new Services(context, linksLog.publisher);
  context.metrics.watchSnapshots(linksLog.snapshots);
  context.metrics.watchLoad(services);
  const { url, dashboard } = listenSites(context, services);
  const health = healthOf(context, linksLog, dashboard?.oidc);
  const internal_url = listenInternally(context, services, health);
  const listening = { url, internal_url, dashboard_url: dashboard?.url };
  context.log.info(listening, "listening");
  return listening;
}

/** Publishes the links log, makes snapshots of it, and watches its streams. */
class LinksLog {
  readonly publisher: LinksLogPublisher;
  readonly snapshots: SnapshotMaker;
  readonly replicas: ReplicaWatch;
  readonly readability: ReadabilityWatch;

  constructor({ config, sql, nats, lifecycle, log, fullDisk }: ApiContext) {
    const expected = config.NATS_REPLICAS;
    const signer = new LogSigner(config);
    const noteFailure = (error: unknown): void => fullDisk.record(error);
    const context = { sql, nats, signer, replicas: expected, log, noteFailure };
    this.publisher = new LinksLogPublisher(context);
    lifecycle.onStop("links log", () => this.publisher.stop());
    this.snapshots = new SnapshotMaker(context, this.publisher, config.DATABASE_URL);
    lifecycle.onStop("snapshots", () => this.snapshots.stop());
    const streams = [LINK_LOG_STREAM, SNAPSHOTS_STREAM];
    this.replicas = new ReplicaWatch(nats.connection, streams, expected, log);
    lifecycle.onStop("replica watch", () => this.replicas.stop());
    this.readability = new ReadabilityWatch(nats.connection, [...streams, CLICKS_STREAM], log);
    lifecycle.onStop("readability watch", () => this.readability.stop());
  }
}

/** Listens for `/v1` and, if it is configured, the dashboard. */
function listenSites(context: ApiContext, services: Services) {
  const { config, lifecycle } = context;
  const shared = config.INSTANCE !== undefined;
  const app = apiSite(context, services, config.COMPAT);
  app.listen({ hostname: config.API_HOST, port: config.API_PORT, ...listenOptions(shared) });
  lifecycle.onStop("server", () => stopSite(app.server, shared));
  const dashboard = listenDashboard(context, services);
  // Stops before the servers, which wait for their open connections.
  lifecycle.onStop("live streams", () => services.live.stop());
  lifecycle.onStop("waits for events", () => services.waits.stop());
  return { url: app.server?.url.origin, dashboard };
}

/** Answers operators: health, metrics and status. Returns the URL of the internal server. */
function listenInternally(context: ApiContext, services: Services, health: HealthSource): string {
  const { config, sql, nats, replies, metrics, eventLoop, lifecycle, log } = context;
  answerStatus(
    nats.connection,
    replies,
    {
      process: "api",
      instance: config.INSTANCE,
      health,
      figures: async () => ({ outbox_pending: (await readOutbox(sql)).pending }),
    },
    log,
  );
  const port = metricsPort(config.API_METRICS_PORT, config.INSTANCE, METRICS_PORTS);
  const address = { host: config.API_METRICS_HOST, port };
  const internal = new InternalServer(address, metrics.registry, health, {
    eventLoop,
    routes: { "/domains/ask": (request) => answerDomainQuery(services, request) },
  });
  lifecycle.onStop("internal server", () => internal.stop());
  return internal.url.origin;
}

/** An empty database in place of the right one publishes nothing. */
const OTHER_DATABASE = `PostgreSQL has no account, and the stream ${LINK_LOG_STREAM} has links of another database, which stay as they are: mount the disk of the right database, or restore it; to start again, delete the stream`;

const healthOf = (
  context: ApiContext,
  { publisher, snapshots, replicas, readability }: LinksLog,
  oidc: OidcService | undefined,
): HealthSource => ({
  readiness: async () => ({
    process: context.isStopping() ? "stopping" : "ok",
    postgres: await schemaState(context.sql).catch(() => "unreachable"),
    links_feed: publisher.head === undefined ? "not connected yet" : "ok",
  }),
  warnings: async () => ({
    links_feed: publisher.isSilent ? OTHER_DATABASE : undefined,
    links_log: publisher.warning ?? snapshots.warning,
    outbox: await readOutbox(context.sql).then(describeOutbox, () => undefined),
    postgres: context.fullDisk.problem(),
    links_snapshots: snapshots.problem,
    replicas: replicas.warning(),
    streams: readability.warning(),
    webhooks: await lagWarning(context.sql),
    provider: oidc?.problem,
  }),
});

/** Answers Caddy, which asks whether a host is ours before it issues a certificate. */
async function answerDomainQuery(
  { hosts, domains }: Services,
  request: Request,
): Promise<Response> {
  const url = URL.parse(request.url);
  // The URL contains the Host header, which may be invalid.
  if (url === null) return new Response(null, { status: 400 });
  const host = url.searchParams.get("domain") ?? "";
  const ours = hosts.has(host) || (await domains.isCustom(host));
  return new Response(null, { status: ours ? 200 : 404 });
}

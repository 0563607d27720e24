/**
 * The redirector process: redirects short links from memory and journals each click. `check`
 * reports whether it could start.
 */
import { createClientAddress, createProxyTrust } from "../shared/client-address.ts";
import { loadConfig, metricsPort } from "../shared/env.ts";
import { watchEventLoop } from "../shared/event-loop.ts";
import { normalizeHost, ownHosts } from "../shared/hosts.ts";
import { newUuid } from "../shared/ids.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLimitedLog } from "../shared/limited-log.ts";
import { createLog, type Log } from "../shared/log.ts";
import { createCheckCommands } from "../shared/preflight.ts";
import { createReplies } from "../shared/replies.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { answerStatus } from "../shared/status-responder.ts";
import { checks } from "./checks.ts";
import { configSchema, getTlsFiles, loadErrorPages, METRICS_PORTS } from "./config.ts";
import { createHealth } from "./health.ts";
import { createConnectionCaps } from "./http/connection-caps.ts";
import type { Handler } from "./http/request.ts";
import { createResponseWriter } from "./http/response-writer.ts";
import { startServer } from "./http/server.ts";
import { createMetrics } from "./metrics.ts";
import { readConnectionsLimit } from "./open-files.ts";
import { type Config, openParts, type Parts } from "./parts.ts";
import { createPasswordCheck, FORM_BYTES_MAX } from "./passwords/password.ts";
import { createUnlockCookies } from "./passwords/unlock-cookie.ts";
import { createHandler, type HandlerDeps } from "./redirect/handler.ts";
import { createLookups } from "./visitors/lookups.ts";

/**
 * Maximum time that a start waits for the links of a new host, because requests may arrive as soon
 * as it listens. systemd kills a process that has not started after 90 s.
 */
const FILL_MS = 60_000;

/** Maximum wait without further links; without NATS, old links are better than none. */
const CATCH_UP_MS = 3_000;

type Metrics = ReturnType<typeof createMetrics>;

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("redirector", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);
  const parts = await openParts({
    config,
    log,
    lifecycle,
    workers: {
      links: new URL("./links/links.worker.ts", import.meta.url),
      slowReads: new URL("./links/slow-reads.worker.ts", import.meta.url),
      publisher: new URL("./journal/publisher.worker.ts", import.meta.url),
    },
  });
  const { logHealth, journal, publisher } = parts;
  const lookups = createLookups();
  const replies = createReplies(log);
  const metrics = createMetrics({
    ...parts,
    publishing: publisher,
    lookups,
    replies,
    rollbacks: parts.limits.rollbacks,
    journalBytesMax: config.JOURNAL_BYTES_MAX,
  });
  const eventLoop = watchEventLoop(metrics.registry);
  const handle = await createRequestHandler(config, parts, {
    lookups,
    isBehind: eventLoop.isBehind,
    onResponse: metrics.onResponse,
  });
  void parts.links.waitUntilCurrent().then(() => logHealth.onCurrent());
  await logHealth.waitUntilReady({ withinMs: FILL_MS, idleMs: CATCH_UP_MS });
  const server = listen(config, handle, parts, metrics, log);
  metrics.watchConnections(server.connections);
  lifecycle.onStop("server", () => server.stop());
  const health = createHealth({ ...parts, config, isStopping: lifecycle.stopping });
  answerStatus({
    nats: parts.nats.connection,
    replies,
    process: "redirector",
    instance: config.INSTANCE,
    health,
    figures: () => ({
      connections: server.connections().open,
      feed_age_seconds: logHealth.ageSeconds(),
      feed_lag_messages: logHealth.lag(),
      ...(logHealth.links === undefined ? {} : { links: logHealth.links }),
      journal_bytes: journal.stats().pendingBytes,
      segments_pending: publisher.pending(),
    }),
    log,
  });
  const internal = startInternalServer({
    host: config.REDIRECTOR_METRICS_HOST,
    port: metricsPort(config.REDIRECTOR_METRICS_PORT, config.INSTANCE, METRICS_PORTS),
    registry: metrics.registry,
    health,
    eventLoop,
  });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info({ url: server.url.origin, internal_url: internal.url.origin }, "listening");
  notifier.ready();
}

async function createRequestHandler(
  config: Config,
  parts: Parts,
  deps: Pick<HandlerDeps, "lookups" | "isBehind" | "onResponse">,
): Promise<Handler> {
  const isSecure = config.SHORT_URL.startsWith("https:");
  return createHandler({
    ...parts,
    ...deps,
    clientAddress: createClientAddress(config.TRUSTED_PROXIES),
    checkPassword: createPasswordCheck(),
    unlockCookies: createUnlockCookies(config.LINK_UNLOCK_SECRET ?? newUuid(), isSecure),
    hosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    pages: await loadErrorPages(config),
    rootRedirectUrl: config.ROOT_REDIRECT_URL,
    scheme: isSecure ? "https:" : "http:",
    aboutOffHosts: new Set(config.ABOUT_PAGE_OFF_HOSTS.map(normalizeHost)),
    locate: parts.geo.locate,
  });
}

/** Starts the server for short links. */
function listen(
  config: Config,
  handle: Handler,
  { journal }: Parts,
  metrics: Metrics,
  log: Log,
): ReturnType<typeof startServer> {
  const connectionsMax = Math.min(config.CONNECTIONS_MAX, readConnectionsLimit());
  if (connectionsMax < config.CONNECTIONS_MAX)
    log.warn({ connections_max: connectionsMax }, "connections_max_lowered_to_open_files");
  const logFailure = createLimitedLog(log, "connection_failed");
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  return startServer(
    { host: config.REDIRECTOR_HOST, port: config.REDIRECTOR_PORT, tls: getTlsFiles(config) },
    {
      handle,
      writer: createResponseWriter(),
      commit: journal.commit,
      bodyBytesMax: FORM_BYTES_MAX,
      connectionsMax,
      caps: createConnectionCaps({
        perNetworkMax: config.CONNECTIONS_PER_ADDRESS_MAX,
        isExempt: createProxyTrust(config.TRUSTED_PROXIES),
      }),
      proxyProtocol: config.PROXY_PROTOCOL,
      normalizeAddress: (peer) => clientAddress(peer, null),
      onSent: metrics.onSent,
      onError(reason, error) {
        metrics.onConnectionError(reason);
        logFailure(reason, error);
      },
    },
  );
}

const { check, doctor } = createCheckCommands(configSchema, process.env, checks);

await runMain({ "": serve, check, doctor }, process.argv.slice(2));

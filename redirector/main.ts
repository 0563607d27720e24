/**
 * The redirector process: redirects short links from memory and journals each click. `check`
 * reports whether it could start.
 */
import { loadConfig, metricsPort } from "../shared/env.ts";
import { EventLoopWatch } from "../shared/event-loop.ts";
import { InternalServer } from "../shared/internal-server.ts";
import { Notifier, ProcessLifecycle, runMain } from "../shared/lifecycle.ts";
import { type Log, processLog } from "../shared/log.ts";
import { ProcessMetrics } from "../shared/metrics.ts";
import { NatsClient, Replies } from "../shared/nats.ts";
import { printCheck, printFindings } from "../shared/preflight.ts";
import { answerStatus } from "../shared/status.ts";
import { checks } from "./checks.ts";
import { type Config, configSchema, METRICS_PORTS, readConnectionsLimit } from "./config.ts";
import { readReadiness, readWarnings } from "./health.ts";
import { Server } from "./http/server.ts";
import { registerMetrics } from "./metrics.ts";
import { ErrorPages } from "./pages/error-pages.ts";
import { Parts } from "./parts.ts";
import { PasswordCheck } from "./passwords/password.ts";
import { Redirector } from "./redirect/redirector.ts";

/**
 * Maximum time that a start waits for the links of a new host, because requests may arrive as soon
 * as it listens. systemd kills a process that has not started after 90 s.
 */
const FILL_MS = 60_000;

/** Maximum wait without further links; without NATS, old links are better than none. */
const CATCH_UP_MS = 3_000;

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = processLog("redirector", config.LOG_LEVEL);
  const notifier = new Notifier(process.env, log);
  const lifecycle = new ProcessLifecycle(log, notifier);
  const nats = new NatsClient(config.NATS_URL, "redirector", log, config);
  lifecycle.onStop("nats", () => nats.close());
  const parts = await Parts.open({ config, log, lifecycle, nats });
  const { logHealth, links, journal, publisher } = parts;
  const metrics = new ProcessMetrics("redirector");
  const eventLoop = new EventLoopWatch(metrics.registry);
  const redirector = new Redirector(config, {
    cache: parts.cache,
    takedowns: parts.takedowns,
    domains: parts.domains,
    links,
    journal,
    limits: parts.limits,
    failures: parts.failures,
    pages: await ErrorPages.load(config),
    passwords: new PasswordCheck(),
    locate: (address) => parts.geo.locate(address),
    isBehind: () => eventLoop.isBehind(),
  });
  void links.waitUntilCurrent().then(() => logHealth.onCurrent());
  await logHealth.waitUntilReady({ withinMs: FILL_MS, idleMs: CATCH_UP_MS });

  const server = new Server(withinOpenFiles(config, log), redirector, log);
  lifecycle.onStop("server", () => server.stop());

  const replies = new Replies(log);
  registerMetrics(metrics, config, { parts, redirector, server, replies });
  const health = {
    readiness: () => readReadiness(parts, lifecycle.stopping()),
    warnings: () => readWarnings(parts, config),
  };
  answerStatus(
    nats.connection,
    replies,
    {
      process: "redirector",
      instance: config.INSTANCE,
      health,
      figures: () => ({
        connections: server.connections.open,
        feed_age_seconds: logHealth.ageSeconds(),
        feed_lag_messages: logHealth.lag(),
        ...(logHealth.links === undefined ? {} : { links: logHealth.links }),
        journal_bytes: journal.stats().pendingBytes,
        segments_pending: publisher.stats().pending,
      }),
    },
    log,
  );
  const port = metricsPort(config.REDIRECTOR_METRICS_PORT, config.INSTANCE, METRICS_PORTS);
  const address = { host: config.REDIRECTOR_METRICS_HOST, port };
  const internal = new InternalServer(address, metrics.registry, health, { eventLoop });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info({ url: server.url.origin, internal_url: internal.url.origin }, "listening");
  notifier.ready();
}

/** The configuration with no more connections than the process may open files. */
function withinOpenFiles(config: Config, log: Log): Config {
  const connectionsMax = Math.min(config.CONNECTIONS_MAX, readConnectionsLimit());
  if (connectionsMax < config.CONNECTIONS_MAX)
    log.warn({ connections_max: connectionsMax }, "connections_max_lowered_to_open_files");
  return { ...config, CONNECTIONS_MAX: connectionsMax };
}

await runMain(
  {
    "": serve,
    check: () => printCheck(configSchema, process.env, checks),
    doctor: () => printFindings(configSchema, process.env, checks),
  },
  process.argv.slice(2),
);

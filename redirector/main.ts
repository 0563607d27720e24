/**
 * The redirector process: redirects short links from memory and journals each click. `check` reports whether it
 * could start.
 */
import { accessSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";

import { createClientAddress, createProxyTrust } from "../shared/client-address.ts";
import { CLICKS_STREAM, LINKS_STREAM } from "../shared/contracts/streams.ts";
import { loadConfig, metricsPort } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { newUuid } from "../shared/ids.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLimitedLog } from "../shared/limited-log.ts";
import { createLog } from "../shared/log.ts";
import { openNats, probeNats } from "../shared/nats.ts";
import { runPreflight } from "../shared/preflight.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { configSchema, getTlsFiles, loadErrorPages, METRICS_PORTS } from "./config.ts";
import { createHandler } from "./handler.ts";
import { createConnectionCaps } from "./http/connection-caps.ts";
import { createResponseWriter } from "./http/response-writer.ts";
import { openJournal } from "./journal/journal.ts";
import { lockJournal } from "./journal/lock.ts";
import { startPublisherClient } from "./journal/publisher-client.ts";
import { type LinkSubscriber, startLinkSubscriber } from "./link-subscriber.ts";
import { createLookups } from "./lookups.ts";
import { createMetrics } from "./metrics.ts";
import { createPasswordCheck, FORM_BYTES_MAX } from "./password.ts";
import { startServer } from "./server.ts";
import { loadSnapshot, startSnapshots } from "./snapshot.ts";
import { createUnlockCookies } from "./unlock-cookie.ts";

/** How long a stop waits for segments to be published; the rest stays in the journal. */
const DRAIN_MS = 3_000;

/** As the alert ShorthopFeedStale: several heartbeats of the feed are missing. */
const FEED_AGE_WARNING_SECONDS = 30;

/** The snapshot of the link cache, in the journal's directory. */
const SNAPSHOT_NAME = "links.snapshot";

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("redirector", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  const nats = openNats({ url: config.NATS_URL, name: "redirector", log });
  lifecycle.onStop("nats", nats.close);
  const cache = createLinkCache(config.CACHE_BYTES_MAX);
  mkdirSync(config.JOURNAL_DIR, { recursive: true, mode: 0o700 });
  lockJournal(config.JOURNAL_DIR);
  const snapshotPath = join(config.JOURNAL_DIR, SNAPSHOT_NAME);
  const initialCursor = await loadSnapshot(snapshotPath, cache);
  const feed = startLinkSubscriber({
    nats,
    streamReplicas: config.NATS_REPLICAS,
    cache,
    initialCursor,
    log,
  });
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: [LINKS_STREAM, CLICKS_STREAM],
    wanted: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);
  const snapshots = startSnapshots({ path: snapshotPath, cache, feed, log });
  const publisher = startPublisherClient({
    workerUrl: new URL("./journal/publisher.worker.ts", import.meta.url),
    natsUrl: config.NATS_URL,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    streamReplicas: config.NATS_REPLICAS,
    logLevel: config.LOG_LEVEL,
    onReleased: (segment) => journal.recycle(segment),
    onError: (error) => {
      throw new Error("The publisher's thread failed.", { cause: error });
    },
  });
  const journal = openJournal({
    dir: config.JOURNAL_DIR,
    bytesMax: config.JOURNAL_BYTES_MAX,
    onSealed: (segment) => publisher.add(segment),
    onError: (error) => log.error({ error }, "journal_failed"),
    onUnknownFile: (name) => log.warn({ name }, "journal_unknown_file"),
  });
  const lookups = createLookups();
  const metrics = createMetrics({
    cache,
    feed,
    journal,
    publishing: publisher,
    lookups,
    journalBytesMax: config.JOURNAL_BYTES_MAX,
  });
  lifecycle.onStop("journal", async () => {
    journal.close();
    feed.stop();
    await snapshots.stop();
    await publisher.stop(DRAIN_MS);
  });

  const handle = createHandler({
    cache,
    feed,
    journal,
    clientAddress,
    checkPassword: createPasswordCheck(),
    unlockCookies: createUnlockCookies(
      config.LINK_UNLOCK_SECRET ?? newUuid(),
      config.SHORT_URL.startsWith("https:"),
    ),
    lookups,
    hosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    pages: await loadErrorPages(config),
    rootRedirectUrl: config.ROOT_REDIRECT_URL,
    onResponse: metrics.onResponse,
  });
  const logFailure = createLimitedLog(log, "connection_failed");
  const server = startServer(
    {
      host: config.REDIRECTOR_HOST,
      port: config.REDIRECTOR_PORT,
      tls: getTlsFiles(config),
    },
    {
      handle,
      writer: createResponseWriter(),
      commit: journal.commit,
      bodyBytesMax: FORM_BYTES_MAX,
      connectionsMax: config.CONNECTIONS_MAX,
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
  metrics.watchConnections(server.connections);
  lifecycle.onStop("server", () => server.stop());

  const internal = startInternalServer({
    host: config.REDIRECTOR_METRICS_HOST,
    port: metricsPort(config.REDIRECTOR_METRICS_PORT, config.INSTANCE, METRICS_PORTS),
    registry: metrics.registry,
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      links_feed: feed.readiness(),
    }),
    warnings: () => ({ links_feed: feedWarning(feed), replicas: replicas.warning() }),
  });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info({ url: server.url.origin, internal_url: internal.url.origin }, "listening");
  notifier.ready();
}

/** Why links may be outdated; undefined when they are not. */
function feedWarning(feed: LinkSubscriber): string | undefined {
  const age = Math.round(feed.ageSeconds());
  if (feed.state() === "ok" && age < FEED_AGE_WARNING_SECONDS) return undefined;
  return `${feed.state()}; last confirmed ${age} s ago`;
}

async function check(): Promise<void> {
  const code = await runPreflight(configSchema, process.env, (config) => ({
    NATS_URL: probeNats(config.NATS_URL),
    JOURNAL_DIR: async () => {
      mkdirSync(config.JOURNAL_DIR, { recursive: true, mode: 0o700 });
      accessSync(config.JOURNAL_DIR, constants.W_OK);
    },
    PAGE_TEMPLATE_FILE: () => loadErrorPages(config),
  }));
  // Exits without closing what the checks opened.
  process.exit(code);
}

await runMain({ "": serve, check }, process.argv.slice(2));

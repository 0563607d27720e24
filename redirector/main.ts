/**
 * The redirector process: redirects short links from memory and journals each click. `check` reports whether it
 * could start.
 */
import { mkdirSync } from "node:fs";

import { createClientAddress, createProxyTrust } from "../shared/client-address.ts";
import { CLICKS_STREAM, LIMITS_STREAM } from "../shared/contracts/streams.ts";
import { loadConfig, metricsPort } from "../shared/env.ts";
import { normalizeHost, ownHosts } from "../shared/hosts.ts";
import { newUuid } from "../shared/ids.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLimitedLog } from "../shared/limited-log.ts";
import { imagesPlaceOf } from "../shared/links-store/images.ts";
import { createLog } from "../shared/log.ts";
import { openNats } from "../shared/nats.ts";
import { createCheckCommands } from "../shared/preflight.ts";
import { createReplies } from "../shared/replies.ts";
import { createNotifier } from "../shared/sd-notify.ts";
import { answerStatus } from "../shared/status-responder.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { checks } from "./checks.ts";
import { configSchema, getTlsFiles, linksDirOf, loadErrorPages, METRICS_PORTS } from "./config.ts";
import { diskWarning } from "./disk-room.ts";
import { createDomainAnswers } from "./domain-settings.ts";
import { startFailureReporter } from "./failures/reporter.ts";
import { openRuleGeo } from "./geo.ts";
import { createHandler } from "./handler.ts";
import { createConnectionCaps } from "./http/connection-caps.ts";
import { createResponseWriter } from "./http/response-writer.ts";
import { clicksWarning } from "./journal/clicks-warning.ts";
import { openJournal } from "./journal/journal.ts";
import { lockJournal } from "./journal/lock.ts";
import { startPublisherClient } from "./journal/publisher-client.ts";
import { openLimits } from "./limits/open-limits.ts";
import { createFeedHealth } from "./links/feed-health.ts";
import { startHostLinks } from "./links/host-links.ts";
import { startLinksThread } from "./links/links-thread.ts";
import { createSlowReads } from "./links/slow-reads.ts";
import { markDamaged, storeWarning } from "./links/store.ts";
import { createLookups } from "./lookups.ts";
import { createMetrics } from "./metrics.ts";
import { readConnectionsLimit } from "./open-files.ts";
import { createPasswordCheck, FORM_BYTES_MAX } from "./password.ts";
import { startServer } from "./server.ts";
import { createTakedowns } from "./takedowns.ts";
import { createUnlockCookies } from "./unlock-cookie.ts";

/** How long a stop waits for segments to be published; the rest stays in the journal. */
const DRAIN_MS = 3_000;

/**
 * How long a start waits for the links of a new host, as requests may come to it as soon as it listens. systemd ends what
 * has not started after 90 s.
 */
const FILL_MS = 60_000;

/** How long it waits when there are no more to come; without NATS, old links are better than none. */
const CATCH_UP_MS = 3_000;

/** Ends the process with a message, as it must not go on without one of its threads. */
const failWith =
  (message: string) =>
  (error: unknown): never => {
    throw new Error(message, { cause: error });
  };

async function serve(): Promise<void> {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("redirector", config.LOG_LEVEL);
  const notifier = createNotifier(process.env, log);
  const lifecycle = createLifecycle(log, notifier);
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  const nats = openNats({ url: config.NATS_URL, name: "redirector", log });
  lifecycle.onStop("nats", nats.close);
  const takedowns = createTakedowns();
  const domains = createDomainAnswers();
  const cache = createLinkCache(config.CACHE_BYTES_MAX, takedowns.covers);
  takedowns.onChange(() => void cache.remark());
  mkdirSync(config.JOURNAL_DIR, { recursive: true, mode: 0o700 });
  lockJournal(config.JOURNAL_DIR);
  const linksDir = linksDirOf(config);
  const { followed: streams } = config.LINKS_STREAMS;
  const linksThread = startLinksThread({
    workerUrl: new URL("./links/links.worker.ts", import.meta.url),
    dir: linksDir,
    natsUrl: config.NATS_URL,
    streamReplicas: config.NATS_REPLICAS,
    streams,
    logLevel: config.LOG_LEVEL,
    images: imagesPlaceOf(config),
    onChanged: () => links.poll(),
    onError: failWith("The links thread failed."),
  });
  const slowReads = createSlowReads({
    workerUrl: new URL("./links/slow-reads.worker.ts", import.meta.url),
    dir: linksDir,
    onError: failWith("The thread of slow reads failed."),
  });
  const feed = createFeedHealth();
  const links = startHostLinks({
    dir: linksDir,
    nats,
    streams,
    cache,
    takedowns,
    domains,
    prefetch: slowReads.prefetch,
    onFeed: feed.onFeed,
    onDamaged(error) {
      log.error({ error }, "links_store_damaged");
      markDamaged(linksDir);
    },
    log,
  });
  lifecycle.onStop("links", async () => {
    links.stop();
    slowReads.stop();
    await linksThread.stop();
  });
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: [...streams.map(({ name }) => name), CLICKS_STREAM, LIMITS_STREAM],
    wanted: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);
  const publisher = startPublisherClient({
    workerUrl: new URL("./journal/publisher.worker.ts", import.meta.url),
    natsUrl: config.NATS_URL,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    journalBytesMax: config.JOURNAL_BYTES_MAX,
    streamReplicas: config.NATS_REPLICAS,
    logLevel: config.LOG_LEVEL,
    onReleased: (segment) => journal.recycle(segment),
    onError: failWith("The publisher's thread failed."),
  });
  const journal = openJournal({
    dir: config.JOURNAL_DIR,
    bytesMax: config.JOURNAL_BYTES_MAX,
    onSealed: (segment) => publisher.add(segment),
    onError: (error) => log.error({ error }, "journal_failed"),
    onUnknownFile: (name) => log.warn({ name }, "journal_unknown_file"),
  });
  const lookups = createLookups();
  const limits = openLimits({
    dir: config.JOURNAL_DIR,
    nats,
    replicas: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("click limits", limits.stop);
  const failures = startFailureReporter({
    nats,
    log,
    intervalMs: config.FAILURES_INTERVAL_SECONDS * 1_000,
  });
  lifecycle.onStop("failure reports", failures.stop);
  const geo = await openRuleGeo(config.GEOIP_DATABASES, (path, error) =>
    log.warn({ path, error }, "geoip_database_missing"),
  );
  const replies = createReplies(log);
  const metrics = createMetrics({
    cache,
    feed,
    links,
    skipped: () => ({ malformed: linksThread.skipped(), failed: links.failed() }),
    journal,
    publishing: publisher,
    lookups,
    geo,
    limits,
    failures,
    replies,
    setBacks: limits.setBacks,
    journalBytesMax: config.JOURNAL_BYTES_MAX,
  });
  lifecycle.onStop("journal", async () => {
    journal.close();
    await publisher.stop(DRAIN_MS);
  });

  const handle = createHandler({
    cache,
    links,
    domains,
    takedowns,
    journal,
    clientAddress,
    checkPassword: createPasswordCheck(),
    unlockCookies: createUnlockCookies(
      config.LINK_UNLOCK_SECRET ?? newUuid(),
      config.SHORT_URL.startsWith("https:"),
    ),
    lookups,
    limits,
    failures,
    hosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    pages: await loadErrorPages(config),
    rootRedirectUrl: config.ROOT_REDIRECT_URL,
    scheme: config.SHORT_URL.startsWith("https:") ? "https:" : "http:",
    aboutOffHosts: new Set(config.ABOUT_PAGE_OFF_HOSTS.map(normalizeHost)),
    locate: geo.locate,
    onResponse: metrics.onResponse,
  });
  const connectionsMax = Math.min(config.CONNECTIONS_MAX, readConnectionsLimit());
  if (connectionsMax < config.CONNECTIONS_MAX)
    log.warn({ connections_max: connectionsMax }, "connections_max_lowered_to_open_files");
  void links.waitUntilCurrent().then(feed.onCurrent);
  await feed.waitUntilReady({ withinMs: FILL_MS, idleMs: CATCH_UP_MS });
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
  metrics.watchConnections(server.connections);
  lifecycle.onStop("server", () => server.stop());

  const health = {
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      links_feed: feed.readiness(),
    }),
    warnings: () => ({
      links_feed: feed.warning(),
      replicas: replicas.warning(),
      geoip: geo.warning(),
      click_limits: limits.warning(),
      links_store: storeWarning(linksDir),
      clicks: clicksWarning({
        segments: publisher.pending(),
        seconds: publisher.waitingSeconds(),
        journalBytes: journal.stats().pendingBytes,
        journalBytesMax: config.JOURNAL_BYTES_MAX,
      }),
      disk: diskWarning({
        JOURNAL_DIR: { dir: config.JOURNAL_DIR, consequence: "clicks are lost" },
        LINKS_DIR: { dir: linksDir, consequence: "changes of links are not taken over" },
      }),
    }),
  };
  answerStatus({
    nats: nats.connection,
    replies,
    process: "redirector",
    instance: config.INSTANCE,
    health,
    figures: () => ({
      connections: server.connections().open,
      feed_age_seconds: feed.ageSeconds(),
      feed_lag_messages: feed.lag(),
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
  });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info({ url: server.url.origin, internal_url: internal.url.origin }, "listening");
  notifier.ready();
}

const { check, doctor } = createCheckCommands(configSchema, process.env, checks);

await runMain({ "": serve, check, doctor }, process.argv.slice(2));

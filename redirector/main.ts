/** The redirector process: answers short links from memory and journals each click. */
import { createClientAddress } from "../shared/client-address.ts";
import { loadConfig } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLog } from "../shared/log.ts";
import { openNats } from "../shared/nats.ts";
import { configSchema } from "./config.ts";
import { openJournal } from "./journal/journal.ts";
import { startPublisher } from "./journal/publisher.ts";
import { createLinkCache } from "./link-cache.ts";
import { startLinkFeed } from "./link-feed.ts";
import { createMetrics } from "./metrics.ts";
import { createPasswordCheck } from "./password.ts";
import { startServer } from "./server.ts";

/** How long a stop waits for clicks to be published; the rest waits in the journal. */
const DRAIN_MS = 3_000;

await runMain(async () => {
  const config = loadConfig(configSchema, process.env);
  const log = createLog("redirector", config.LOG_LEVEL);
  const lifecycle = createLifecycle(log);
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);

  const nats = openNats({ url: config.NATS_URL, name: "redirector", log });
  lifecycle.onStop("nats", nats.close);
  const cache = createLinkCache(config.CACHE_BYTES_MAX);
  const feed = startLinkFeed({ nats: nats.connection, cache, log });
  const publisher = startPublisher({
    nats: nats.connection,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    log,
    onReleased: (page) => journal.released(page),
  });
  const journal = openJournal({
    dir: config.JOURNAL_DIR,
    bytesMax: config.JOURNAL_BYTES_MAX,
    onSealed: (page) => publisher.add(page),
    onError: (error) => log.error({ error }, "journal_failed"),
    onForeign: (name) => log.warn({ name }, "journal_foreign_file"),
  });
  const metrics = createMetrics({ cache, feed, journal, publisher });
  lifecycle.onStop("journal", async () => {
    journal.close();
    feed.stop();
    await publisher.drain(DRAIN_MS);
    publisher.stop();
  });

  const server = startServer(config.REDIRECTOR_HOST, config.REDIRECTOR_PORT, {
    cache,
    feed,
    journal,
    clientAddress,
    checkPassword: createPasswordCheck(),
    hosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    rootRedirectUrl: config.ROOT_REDIRECT_URL,
    onAnswer: metrics.onAnswer,
  });
  lifecycle.onStop("server", () => server.stop());

  const internal = startInternalServer({
    host: config.REDIRECTOR_METRICS_HOST,
    port: config.REDIRECTOR_METRICS_PORT,
    registry: metrics.registry,
    readiness: () => ({
      process: lifecycle.stopping() ? "stopping" : "ok",
      links_feed: feed.state(),
    }),
  });
  lifecycle.onStop("internal server", () => internal.stop());
  log.info({ url: server.url.origin, internal_url: internal.url.origin }, "listening");
});

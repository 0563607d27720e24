/**
 * The redirector process: answers short links from memory and journals each click. With `check` it says
 * whether it could start.
 */
import { accessSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";

import { checkConfig } from "../shared/check.ts";
import { createClientAddress } from "../shared/client-address.ts";
import { loadConfig } from "../shared/env.ts";
import { ownHosts } from "../shared/hosts.ts";
import { newUuid } from "../shared/ids.ts";
import { startInternalServer } from "../shared/internal-server.ts";
import { createLifecycle, runMain } from "../shared/lifecycle.ts";
import { createLog } from "../shared/log.ts";
import { openNats, probeNats } from "../shared/nats.ts";
import { createNotifier } from "../shared/notify.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { configSchema, templateOf, tlsOf } from "./config.ts";
import { createHandler } from "./handler.ts";
import { createAnswerWriter } from "./http/answer.ts";
import { openJournal } from "./journal/journal.ts";
import { lockJournal } from "./journal/lock.ts";
import { startPublishing } from "./journal/publishing.ts";
import { startLinkFeed } from "./link-feed.ts";
import { createLookups } from "./lookups.ts";
import { createMetrics } from "./metrics.ts";
import { createPages } from "./pages.ts";
import { createPasswordPasses } from "./password-pass.ts";
import { createPasswordCheck, FORM_BYTES_MAX } from "./password.ts";
import { startServer } from "./server.ts";
import { loadSnapshot, startSnapshots } from "./snapshot.ts";

/** How long a stop waits for clicks to be published; the rest waits in the journal. */
const DRAIN_MS = 3_000;

/** The links in memory, beside the clicks. */
const SNAPSHOT_NAME = "links.snapshot";

async function redirect(): Promise<void> {
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
  const path = join(config.JOURNAL_DIR, SNAPSHOT_NAME);
  const from = await loadSnapshot(path, cache);
  const feed = startLinkFeed({ nats: nats.connection, cache, from, log });
  const snapshots = startSnapshots({ path, cache, feed, log });
  const publishing = startPublishing({
    thread: new URL("./journal/publisher-thread.ts", import.meta.url),
    natsUrl: config.NATS_URL,
    streamBytesMax: config.CLICKS_BYTES_MAX,
    logLevel: config.LOG_LEVEL,
    onReleased: (page) => journal.released(page),
    onError: (error) => {
      throw new Error("The publisher's thread failed.", { cause: error });
    },
  });
  const journal = openJournal({
    dir: config.JOURNAL_DIR,
    bytesMax: config.JOURNAL_BYTES_MAX,
    onSealed: (page) => publishing.add(page),
    onError: (error) => log.error({ error }, "journal_failed"),
    onForeign: (name) => log.warn({ name }, "journal_foreign_file"),
  });
  const lookups = createLookups();
  const metrics = createMetrics({
    cache,
    feed,
    journal,
    publishing,
    lookups,
    journalBytesMax: config.JOURNAL_BYTES_MAX,
  });
  lifecycle.onStop("journal", async () => {
    journal.close();
    feed.stop();
    await snapshots.stop();
    await publishing.stop(DRAIN_MS);
  });

  const handle = createHandler({
    cache,
    feed,
    journal,
    clientAddress,
    checkPassword: createPasswordCheck(),
    passes: createPasswordPasses(
      config.PASSWORD_PASS_SECRET ?? newUuid(),
      config.SHORT_URL.startsWith("https:"),
    ),
    lookups,
    hosts: ownHosts(config.SHORT_URL, config.SHORT_HOSTS),
    pages: createPages(await templateOf(config)),
    rootRedirectUrl: config.ROOT_REDIRECT_URL,
    onAnswer: metrics.onAnswer,
  });
  const server = startServer(
    {
      host: config.REDIRECTOR_HOST,
      port: config.REDIRECTOR_PORT,
      tls: tlsOf(config),
    },
    {
      handle,
      writer: createAnswerWriter(),
      commit: journal.commit,
      bodyBytesMax: FORM_BYTES_MAX,
      connectionsMax: config.CONNECTIONS_MAX,
      proxyProtocol: config.PROXY_PROTOCOL,
      addressOf: (peer) => clientAddress(peer, null),
      onError: (error) => log.error({ error }, "request_failed"),
    },
  );
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
  notifier.ready();
}

async function check(): Promise<void> {
  const code = await checkConfig(configSchema, process.env, (config) => ({
    NATS_URL: probeNats(config.NATS_URL),
    JOURNAL_DIR: async () => {
      mkdirSync(config.JOURNAL_DIR, { recursive: true, mode: 0o700 });
      accessSync(config.JOURNAL_DIR, constants.W_OK);
    },
    PAGE_TEMPLATE_FILE: () => templateOf(config),
  }));
  // What was opened to look at it is not waited for.
  process.exit(code);
}

await runMain({ "": redirect, check }, process.argv.slice(2));

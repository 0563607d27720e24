/**
 * The background parts of the process: the host's links, the journal, limits, and the reporters.
 */
import { mkdirSync } from "node:fs";

import type * as z from "zod";

import { CLICKS_STREAM, LIMITS_STREAM } from "../shared/contracts/streams.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import { LogVerifier } from "../shared/links-log/signature.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import type { Log } from "../shared/log.ts";
import { natsFilesOf } from "../shared/nats-files.ts";
import { type Nats, openNats } from "../shared/nats.ts";
import { watchReplicas } from "../shared/stream-replicas.ts";
import { createDomainSettingsCache } from "./cache/domain-settings.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createTakedowns } from "./cache/takedowns.ts";
import { type configSchema, linksDirOf } from "./config.ts";
import { startFailureReporter } from "./failures/reporter.ts";
import { openJournal } from "./journal/journal.ts";
import { lockJournal } from "./journal/lock.ts";
import { startPublisherClient } from "./journal/publisher-client.ts";
import { openLimits } from "./limits/open-limits.ts";
import { HostLinks } from "./links/host-links.ts";
import { LinkReads } from "./links/link-reads.ts";
import { LinksThread } from "./links/links-thread.ts";
import { LogHealth } from "./links/log-health.ts";
import { SlowReads } from "./links/slow-reads.ts";
import { openRuleGeo } from "./visitors/geo.ts";

/** How long a stop waits for segments to be published; the rest stays in the journal. */
const DRAIN_MS = 3_000;

export type Config = z.output<typeof configSchema>;

export type PartsDeps = {
  config: Config;
  log: Log;
  lifecycle: Pick<Lifecycle, "onStop">;
  /**
   * The modules of worker threads. The main module names them, as an executable resolves them only
   * from there.
   */
  workers: { links: URL; slowReads: URL; publisher: URL };
};

export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Opens all parts; each stops with the process. Throws when one of them cannot be opened. */
export async function openParts(deps: PartsDeps) {
  const { config, log, lifecycle } = deps;
  const nats = openNats({ url: config.NATS_URL, files: config, name: "redirector", log });
  lifecycle.onStop("nats", nats.close);
  mkdirSync(config.JOURNAL_DIR, { recursive: true, mode: 0o700 });
  lockJournal(config.JOURNAL_DIR);
  const links = openLinks(deps, nats);
  const replicas = watchReplicas({
    nats: nats.connection,
    streams: [LINK_LOG_STREAM, CLICKS_STREAM, LIMITS_STREAM],
    expected: config.NATS_REPLICAS,
    log,
  });
  lifecycle.onStop("replica watch", replicas.stop);
  const { stop: stopClicks, ...clicks } = openClicks(deps);
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
  lifecycle.onStop("journal", stopClicks);
  return { nats, replicas, limits, failures, geo, ...links, ...clicks };
}

/** Opens the links of the host, in memory and in its store. */
function openLinks({ config, log, lifecycle, workers }: PartsDeps, nats: Nats) {
  const takedowns = createTakedowns();
  const domains = createDomainSettingsCache();
  const cache = createLinkCache(config.CACHE_BYTES_MAX, takedowns.covers);
  takedowns.onChange(() => void cache.markAgain());
  const dir = linksDirOf(config);
  const logHealth = new LogHealth();
  const thread = new LinksThread(
    workers.links,
    {
      dir,
      natsUrl: config.NATS_URL,
      natsFiles: natsFilesOf(config),
      publicKeys: config.LINKS_PUBLIC_KEYS,
      logLevel: config.LOG_LEVEL,
    },
    { changed: () => host.poll(), skipped: (reason) => logHealth.onSkipped(reason) },
    failWith("The links thread failed."),
  );
  const slowReadsError = failWith("The thread of slow reads failed.");
  const slowReads = new SlowReads(workers.slowReads, dir, slowReadsError);
  const host = new HostLinks(dir, { cache, takedowns, domains }, logHealth, log);
  const verifier = new LogVerifier(config.LINKS_PUBLIC_KEYS);
  const links = new LinkReads(host, cache, slowReads, nats, verifier);
  lifecycle.onStop("links", async () => {
    links.stop();
    host.stop();
    slowReads.stop();
    await thread.stop();
  });
  const skipped = () => ({ ...logHealth.skipped, failed: host.failed });
  return { takedowns, domains, cache, logHealth, links, skipped };
}

/** Opens the journal, and publishes its segments. */
function openClicks({ config, log, workers }: PartsDeps) {
  const publisher = startPublisherClient({
    workerUrl: workers.publisher,
    natsUrl: config.NATS_URL,
    natsFiles: natsFilesOf(config),
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
  return {
    publisher,
    journal,
    async stop(): Promise<void> {
      journal.close();
      await publisher.stop(DRAIN_MS);
    },
  };
}

/** Ends the process with a message, because it must not continue without one of its threads. */
const failWith =
  (message: string) =>
  (error: unknown): never => {
    throw new Error(message, { cause: error });
  };

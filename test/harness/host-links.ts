/** The links of a redirector host, followed and read in this process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { DomainSettingsCache } from "../../redirector/cache/domain-settings.ts";
import { LinkCache } from "../../redirector/cache/link-cache.ts";
import { Takedowns } from "../../redirector/cache/takedowns.ts";
import { HostLinks } from "../../redirector/links/host-links.ts";
import { HostLog } from "../../redirector/links/host-log.ts";
import { LinkReads } from "../../redirector/links/link-reads.ts";
import { LogHealth } from "../../redirector/links/log-health.ts";
import { SlowReads } from "../../redirector/links/slow-reads.ts";
import { currentFolder } from "../../redirector/links/store-files.ts";
import { StoreReader } from "../../redirector/links/store-reader.ts";
import type { Log } from "../../shared/log.ts";
import { type Nats, NatsClient } from "../../shared/nats.ts";
import { SIGNER } from "./signing.ts";

const SLOW_READS = new URL("../../redirector/links/slow-reads.worker.ts", import.meta.url);

/** A NATS that is never reached. */
export const AWAY: Nats = {
  connection: new Promise(() => undefined),
  connected: () => false,
  inboxPrefix: undefined,
  close: () => Promise.resolve(),
};

const CACHE_BYTES = 16 * 1024 ** 2;

/** A process of a host, whose links are read from the store in a folder. Tests vary its turns. */
export function startLinksProcess(dir: string, nats: Nats, log: Log, turnMs?: number) {
  const takedowns = new Takedowns();
  const cache = new LinkCache(CACHE_BYTES, takedowns);
  const domains = new DomainSettingsCache();
  const health = new LogHealth();
  const host = new HostLinks(dir, { cache, takedowns, domains }, health, log, turnMs);
  const slowReads = new SlowReads(SLOW_READS, dir, (error) => log.error({ error }, "slow_reads"));
  const links = new LinkReads(host, cache, slowReads, nats, SIGNER);
  void links.waitUntilCurrent().then(() => health.onCurrent());
  return {
    host,
    links,
    cache,
    domains,
    takedowns,
    health,
    /** What memory has of a link: its destination, or its state. */
    cached(alias: string): string | null | undefined {
      const path = Buffer.from(`/${alias}`);
      const link = cache.get("", path, { start: 0, end: path.length });
      if (link === null || link === undefined || link === "taken_down") return link;
      const { bytes, start, end } = link.destination;
      return bytes.toString("utf8", start, end);
    },
    [Symbol.dispose]() {
      links.stop();
      slowReads.stop();
      host.stop();
    },
  };
}

/** A host with one process, which follows the links log. */
export function startTestHost(url: string, log: Log) {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  const nats = new NatsClient(url, "redirector", log);
  let skipped = 0;
  const events = { changed: () => process.host.poll(), skipped: () => void skipped++ };
  const hostLog = new HostLog(dir, { nats, verifier: SIGNER, log }, events);
  const process = startLinksProcess(dir, nats, log);
  return {
    ...process,
    state: () => hostLog.state,
    skipped: () => skipped,
    /** The version of a link in the store. */
    versionOf(alias: string): number | undefined {
      using reader = new StoreReader(currentFolder(dir));
      return reader.find("", alias)?.version;
    },
    async [Symbol.asyncDispose]() {
      process[Symbol.dispose]();
      await hostLog.stop();
      await nats.close();
      rmSync(dir, { recursive: true });
    },
  };
}

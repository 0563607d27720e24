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
import { StoreReader } from "../../redirector/links/store.ts";
import type { LogState } from "../../shared/links-store/schema.ts";
import type { Log } from "../../shared/log.ts";
import { type Nats, NatsClient } from "../../shared/nats.ts";
import { SIGNER } from "./links-log.ts";

const CACHE_BYTES = 16 * 1024 ** 2;

/** A process of a host, whose links are read from the store in a folder. Tests vary its turns. */
export class LinksProcess implements Disposable {
  readonly host: HostLinks;
  readonly links: LinkReads;
  readonly cache: LinkCache;
  readonly takedowns = new Takedowns();
  readonly domains = new DomainSettingsCache();
  readonly health = new LogHealth();
  readonly #slowReads: SlowReads;

  constructor(dir: string, nats: Nats, log: Log, turnMs?: number) {
    const { takedowns, domains, health } = this;
    this.cache = new LinkCache(CACHE_BYTES, takedowns);
    this.host = new HostLinks(dir, { cache: this.cache, takedowns, domains }, health, log, turnMs);
    this.#slowReads = new SlowReads(dir);
    this.links = new LinkReads(this.host, this.cache, this.#slowReads, nats, SIGNER);
    void this.links.waitUntilCurrent().then(() => health.onCurrent());
  }

  /** What memory has of a link: its destination, or its state. */
  cached(alias: string): string | null | undefined {
    const path = Buffer.from(`/${alias}`);
    const link = this.cache.get("", path, { start: 0, end: path.length });
    if (link === null || link === undefined || link === "taken_down") return link;
    const { bytes, start, end } = link.destination;
    return bytes.toString("utf8", start, end);
  }

  [Symbol.dispose](): void {
    this.links.stop();
    this.#slowReads.stop();
    this.host.stop();
  }
}

/** A host with one process, which follows the links log. */
export class TestHost implements AsyncDisposable {
  readonly process: LinksProcess;
  readonly #dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  readonly #nats: NatsClient;
  readonly #log: HostLog;

  constructor(url: string, log: Log) {
    this.#nats = new NatsClient(url, "redirector", log);
    const source = { nats: this.#nats, verifier: SIGNER, log };
    this.#log = new HostLog(this.#dir, source);
    this.process = new LinksProcess(this.#dir, this.#nats, log);
  }

  get state(): LogState {
    return this.#log.state;
  }

  /** Records of the log that were not understood. */
  get skipped(): number {
    return this.#log.state.skipped.malformed;
  }

  /** The version of a link in the store. */
  versionOf(alias: string): number | undefined {
    using reader = new StoreReader(currentFolder(this.#dir));
    return reader.find("", alias)?.version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process[Symbol.dispose]();
    await this.#log.stop();
    await this.#nats.close();
    rmSync(this.#dir, { recursive: true });
  }
}

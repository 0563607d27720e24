/**
 * The background parts of the process: the host's links, the journal, limits, and the reporters.
 * Each stops with the process.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Events } from "nats";

import { CLICKS_STREAM, LIMITS_STREAM } from "../shared/contracts/streams.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import { LogVerifier } from "../shared/links-log/signature.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import type { Log } from "../shared/log.ts";
import type { Nats } from "../shared/nats.ts";
import { tryLock } from "../shared/process-lock.ts";
import { ReplicaWatch } from "../shared/stream-checks.ts";
import { GeoDatabases } from "../shared/visitors/geo.ts";
import { DomainSettingsCache } from "./cache/domain-settings.ts";
import { LinkCache } from "./cache/link-cache.ts";
import { Takedowns } from "./cache/takedowns.ts";
import { type Config, linksDirOf } from "./config.ts";
import { FailureReporter } from "./failures/reporter.ts";
import { Journal } from "./journal/journal.ts";
import { PublisherThread } from "./journal/publisher-thread.ts";
import { ClickLimits } from "./limits/click-limits.ts";
import { Continuity } from "./limits/continuity.ts";
import { Ledgers } from "./limits/ledgers.ts";
import { UsesFile } from "./limits/uses-file.ts";
import { HostLinks } from "./links/host-links.ts";
import { LinkReads } from "./links/link-reads.ts";
import { LinksThread } from "./links/links-thread.ts";
import { LogHealth } from "./links/log-health.ts";
import { SlowReads } from "./links/slow-reads.ts";
import { RuleGeo } from "./visitors/request-facts.ts";

/** How long a stop waits for segments to be published; the rest stays in the journal. */
const DRAIN_MS = 3_000;

/** How long a stop waits until leases are returned; the next start returns the others. */
const RETURN_MS = 2_000;

/** The file of click limits in the journal's directory. */
const USES_FILE = "click-limits";

/** The context of all parts of the process; made in `main.ts`. */
export type Context = { config: Config; log: Log; lifecycle: Lifecycle; nats: Nats };

export class Parts {
  readonly takedowns = new Takedowns();
  readonly domains = new DomainSettingsCache();
  readonly cache: LinkCache;
  readonly logHealth = new LogHealth();
  readonly links: LinkReads;
  readonly replicas: ReplicaWatch;
  readonly publisher: PublisherThread;
  readonly journal: Journal;
  readonly limits: ClickLimits;
  readonly continuity: Continuity;
  readonly ledgers: Ledgers;
  readonly failures: FailureReporter;
  readonly geo: RuleGeo;
  readonly #host: HostLinks;

  private constructor(context: Context, geo: RuleGeo) {
    const { config, log, lifecycle, nats } = context;
    const dir = config.JOURNAL_DIR;
    // Segments hold people's IP addresses until they are delivered.
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    // Another redirector would recover the segments that are open here.
    if (tryLock("journal", dir) === undefined)
      throw new Error(`Another redirector has the journal in ${dir}: each needs one of its own.`);

    // The links of the host, in memory and in its store.
    this.cache = new LinkCache(config.CACHE_BYTES_MAX, this.takedowns);
    const { cache, takedowns, domains } = this;
    const linksDir = linksDirOf(config);
    const thread = new LinksThread(config);
    const slowReads = new SlowReads(linksDir);
    slowReads.start();
    this.#host = new HostLinks(linksDir, { cache, takedowns, domains }, this.logHealth, log);
    const verifier = new LogVerifier(config.LINKS_PUBLIC_KEYS);
    this.links = new LinkReads(this.#host, cache, slowReads, nats, verifier);
    lifecycle.onStop("links", async () => {
      this.links.stop();
      this.#host.stop();
      slowReads.stop();
      await thread.stop();
    });

    const streams = [LINK_LOG_STREAM, CLICKS_STREAM, LIMITS_STREAM];
    this.replicas = new ReplicaWatch(nats.connection, streams, config.NATS_REPLICAS, log);
    lifecycle.onStop("replica watch", () => this.replicas.stop());

    const { limits, continuity, ledgers } = openClickLimits(context);
    this.limits = limits;
    this.continuity = continuity;
    this.ledgers = ledgers;

    const intervalMs = config.FAILURES_INTERVAL_SECONDS * 1_000;
    this.failures = new FailureReporter(nats, intervalMs, log);
    lifecycle.onStop("failure reports", () => this.failures.stop());

    // The journal, and the publisher of its segments.
    this.publisher = new PublisherThread(config, (segment) => this.journal.recycle(segment));
    this.journal = new Journal(dir, config.JOURNAL_BYTES_MAX, this.publisher, log);
    lifecycle.onStop("journal", async () => {
      this.journal.close();
      await this.publisher.stop(DRAIN_MS);
    });

    this.geo = geo;
  }

  /** Opens all parts. Throws when one of them cannot be opened. */
  static async open(context: Context): Promise<Parts> {
    const geo = await GeoDatabases.open(context.config.GEOIP_DATABASES, (path, error) =>
      context.log.warn({ path, error }, "geoip_database_missing"),
    );
    return new Parts(context, new RuleGeo(geo));
  }

  /** States and messages of the links log that were skipped since the start, by reason. */
  get skipped(): Readonly<Record<string, number>> {
    return { ...this.logHealth.skipped, failed: this.#host.failed };
  }
}

/** Opens the click limits: their file, their ledgers in NATS, and the watch over both. */
function openClickLimits({ config, log, lifecycle, nats }: Context) {
  const uses = new UsesFile(join(config.JOURNAL_DIR, USES_FILE), {
    unreadable: (kept) => log.error({ kept }, "click_limits_file_unreadable"),
    unwritable: (error) => log.error({ error }, "click_limits_file_unwritable"),
  });
  const ledgers = new Ledgers(nats, config.NATS_REPLICAS);
  const continuity = new Continuity(ledgers, uses, () => limits.restore(), log);
  nats.on(Events.Disconnect, () => continuity.interrupt());
  const limits = new ClickLimits(ledgers, uses, continuity, log);
  lifecycle.onStop("click limits", async () => {
    await limits.stop(RETURN_MS);
    continuity.stop();
    uses.close();
  });
  return { limits, continuity, ledgers };
}

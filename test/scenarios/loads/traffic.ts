/**
 * What most scenarios do beside their faults: redirects that are counted, changes that are
 * recorded, and links by the thousand.
 */
import { BulkLinks, LINKS_MORE } from "../../harness/bulk-links.ts";
import type { Topology } from "../topologies/topology.ts";
import { type ChangeGaps, LinkChanges } from "./link-changes.ts";
import { type Pace, Redirects } from "./redirects.ts";

/** Links are added during one fault of so many. */
const MORE_LINKS_EVERY = 10;

/** The longest interruptions around a fault, in milliseconds. */
export type Interruption = ChangeGaps & { fault: string; redirectGapMs: number };

type Settings = {
  /** Links made by bulk before the first fault. */
  links: number;
  pace: Pace;
  /** Quiet time around a fault: what is measured then is this fault's. */
  quietMs: number;
  log: (line: string) => void;
};

export class Traffic {
  readonly redirects: Redirects;
  readonly changes: LinkChanges;
  readonly bulk: BulkLinks;
  readonly interruptions: Interruption[] = [];
  readonly #topology: Topology;
  readonly #settings: Settings;

  /** Makes the links, and begins. */
  static async start(topology: Topology, settings: Settings): Promise<Traffic> {
    const redirects = await Redirects.prepare(topology);
    const bulk = new BulkLinks({
      apis: () => topology.apis(),
      key: await topology.createKey(),
      redirectors: () => topology.redirectors(),
      connectNats: () => topology.connectLinksNats(),
      isMirrored: topology.isMirrored,
      log: settings.log,
    });
    await bulk.prepare(settings.links);
    const changes = await LinkChanges.start(topology, redirects.key, redirects.links);
    redirects.start(settings.pace, changes.seen);
    return new Traffic(topology, settings, { redirects, changes, bulk });
  }

  private constructor(
    topology: Topology,
    settings: Settings,
    parts: { redirects: Redirects; changes: LinkChanges; bulk: BulkLinks },
  ) {
    this.#topology = topology;
    this.#settings = settings;
    this.redirects = parts.redirects;
    this.changes = parts.changes;
    this.bulk = parts.bulk;
  }

  /** Number of requests to redirectors. */
  get sent(): number {
    return this.redirects.sent;
  }

  /** Injects a fault while links are changed; afterwards each leads where the API says. */
  async during(fault: string, inject: () => Promise<void>): Promise<void> {
    const { quietMs, log } = this.#settings;
    await Bun.sleep(quietMs);
    this.#takeGaps();
    const adds = this.interruptions.length % MORE_LINKS_EVERY === 0;
    await Promise.all([
      this.bulk.changeDuring(inject),
      ...(adds ? [this.bulk.create(LINKS_MORE)] : []),
    ]);
    await Bun.sleep(quietMs);
    const gaps = this.#takeGaps();
    this.interruptions.push({ fault, ...gaps });
    const ms = Object.entries(gaps).map(([name, value]) => `${name} ${Math.round(value)}`);
    log(`${fault}: ${ms.join(", ")}`);
    await this.bulk.expectCurrent(fault).catch(async (cause: unknown) => {
      throw new Error(`${String(cause)} ${await this.#topology.describe()}`, { cause });
    });
  }

  /** Ends it, and waits for the last responses. */
  async stop(): Promise<void> {
    await this.redirects.stop();
    await this.changes.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.redirects.stop();
    this.redirects.remove();
    await this.changes[Symbol.asyncDispose]();
  }

  #takeGaps(): ChangeGaps & { redirectGapMs: number } {
    return { redirectGapMs: this.redirects.takeGapMs(), ...this.changes.takeGaps() };
  }
}

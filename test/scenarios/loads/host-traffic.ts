/**
 * What runs beside faults of hosts and their stores: links that are changed and followed on each,
 * redirects that are counted, and changes that are recorded.
 */
import type { TwoHosts } from "../topologies/two-hosts.ts";
import { LinkChanges } from "./link-changes.ts";
import { Redirects } from "./redirects.ts";

/** Redirects a second that are counted. */
const COUNTED_PER_SECOND = 100;

/** What is counted and recorded; a store that comes back older has lost events. */
type Kinds = { clicks: boolean; events: boolean };

export class HostTraffic {
  readonly redirects: Redirects | undefined;
  readonly changes: LinkChanges | undefined;
  /** How long it took until all was right after each fault, in seconds. */
  readonly secondsUntilRight: number[] = [];
  /** Answers 503 of all faults, for links and for aliases without one. */
  unavailable = 0;
  undecided = 0;
  readonly #topology: TwoHosts;

  static async start(topology: TwoHosts, { clicks, events }: Kinds): Promise<HostTraffic> {
    const redirects = clicks ? await Redirects.prepare(topology) : undefined;
    const changes =
      events && redirects !== undefined
        ? await LinkChanges.start(topology, redirects.key, redirects.links)
        : undefined;
    redirects?.start({ perSecond: COUNTED_PER_SECOND });
    return new HostTraffic(topology, redirects, changes);
  }

  private constructor(
    topology: TwoHosts,
    redirects: Redirects | undefined,
    changes: LinkChanges | undefined,
  ) {
    this.#topology = topology;
    this.redirects = redirects;
    this.changes = changes;
  }

  get sent(): number {
    return this.redirects?.sent ?? 0;
  }

  /**
   * Injects a fault. Links that exist may neither be 404 nor lead back meanwhile; afterwards each
   * leads on both hosts where PostgreSQL says, a takedown works, and nobody warns of links.
   */
  async during(_fault: string, inject: () => Promise<void>): Promise<void> {
    const { followed, hosts, settings } = this.#topology;
    await followed.waitUntilRight(hosts, settings.rightMs);
    followed.start(hosts);
    const problems: string[] = [];
    try {
      await inject();
      const endedAt = performance.now();
      await followed.stopChanging();
      await followed.waitUntilRight(hosts, settings.rightMs);
      followed.endGoingBack();
      this.secondsUntilRight.push(Math.round((performance.now() - endedAt) / 1_000));
      await followed.expectTakedown(hosts);
    } catch (error) {
      problems.push(String(error));
    }
    problems.push(...(await followed.stop()));
    this.unavailable += followed.unavailable;
    this.undecided += followed.undecided;
    if (problems.length > 0) throw new Error(problems.slice(0, PROBLEMS_MAX).join("; "));
  }

  async stop(): Promise<void> {
    await this.redirects?.stop();
    await this.changes?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.redirects?.stop();
    this.redirects?.remove();
    await this.changes?.[Symbol.asyncDispose]();
  }
}

/** Problems that are named. */
const PROBLEMS_MAX = 5;

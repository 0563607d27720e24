/** Visitors at a fixed rate, each on a connection of their own, and what they notice of floods. */
import { call, linkSchema } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import type { FloodedRedirector } from "../topologies/flooded-redirector.ts";
import { startVisitors, type VisitorReport, type Visitors } from "./visitors.ts";

/** What was measured in a flood, or in the quiet time before or after one. */
export type Phase = {
  name: string;
  isFlood: boolean;
  visitors: VisitorReport;
  /** Of the redirector: open connections and memory at most; those rejected, and evicted. */
  openMax: number;
  rejected: number;
  evicted: number;
  memoryMiBMax: number;
};

const SAMPLE_MS = 250;

const REDIRECTED_MS = 10_000;

const STORED_MS = 60_000;

export class FloodVisitors {
  readonly phases: Phase[] = [];
  readonly sent = 0;
  readonly #topology: FloodedRedirector;
  readonly #link: { url: string; key: string };
  readonly #visitors: Visitors;
  readonly #quietMs: number;
  #redirects = 0;

  static async start(
    topology: FloodedRedirector,
    { perSecond, quietMs }: { perSecond: number; quietMs: number },
  ): Promise<FloodVisitors> {
    const key = await topology.createKey();
    const body = { url: "https://example.com/flooded" };
    const created = await call(`${topology.apis()[0]}/v1/links`, { key, body });
    const { id, alias } = linkSchema.parse(created.body);
    const shortUrl = `${topology.redirectors()[0]}/${alias}`;
    await eventually(async () => {
      const { status } = await fetch(shortUrl, { redirect: "manual" });
      if (status !== 302) throw new Error(`${shortUrl}: ${status}`);
    }, REDIRECTED_MS);
    const link = { url: `${topology.apis()[0]}/v1/links/${id}`, key };
    const load = new FloodVisitors(topology, link, startVisitors(shortUrl, perSecond), quietMs);
    await load.#rest("before");
    return load;
  }

  private constructor(
    topology: FloodedRedirector,
    link: { url: string; key: string },
    visitors: Visitors,
    quietMs: number,
  ) {
    this.#topology = topology;
    this.#link = link;
    this.#visitors = visitors;
    this.#quietMs = quietMs;
  }

  /** Redirects that visitors got; the first one was this load's own. */
  get redirects(): number {
    return this.#redirects + 1;
  }

  async during(flood: string, inject: () => Promise<void>): Promise<void> {
    await this.#watch(flood, true, inject);
    await this.#rest(`after ${flood}`);
  }

  async stop(): Promise<void> {
    this.#redirects = await this.#visitors.stop();
  }

  /** Waits until as many clicks are stored as there were redirects; returns how many are. */
  async countStored(): Promise<number> {
    const { url, key } = this.#link;
    let stored = 0;
    await eventually(async () => {
      stored = linkSchema.parse((await call(url, { key })).body).clicks;
      if (stored < this.redirects) throw new Error(`${stored} clicks are stored.`);
    }, STORED_MS).catch(() => undefined);
    return stored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#visitors.stop();
  }

  #rest(name: string): Promise<void> {
    return this.#watch(name, false, () => Bun.sleep(this.#quietMs));
  }

  /** Samples the redirector's connections and memory while `work` runs. */
  async #watch(name: string, isFlood: boolean, work: () => Promise<void>): Promise<void> {
    const before = await this.#topology.connections();
    let [openMax, memoryMiBMax, working] = [0, 0, true];
    const sampling = (async () => {
      while (working) {
        const [{ open }] = await Promise.all([this.#topology.connections(), Bun.sleep(SAMPLE_MS)]);
        openMax = Math.max(openMax, open);
        memoryMiBMax = Math.max(memoryMiBMax, this.#topology.memoryMiB());
      }
    })();
    await work();
    working = false;
    await sampling;
    const after = await this.#topology.connections();
    this.phases.push({
      name,
      isFlood,
      visitors: this.#visitors.report(),
      openMax,
      rejected: after.rejected - before.rejected,
      evicted: after.evicted - before.evicted,
      memoryMiBMax,
    });
  }
}

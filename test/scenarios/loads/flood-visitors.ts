/** Visitors at a fixed rate, each on a connection of their own, and what they notice of floods. */
import { call, linkSchema, rawRequest } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import { quantile, round } from "../../harness/report.ts";
import type { FloodedRedirector } from "../topologies/flooded-redirector.ts";

/** What was measured in a flood, or in the quiet time before or after one. */
export type Phase = {
  name: string;
  isFlood: boolean;
  clicks: number;
  /** Clicks without a redirect. */
  failures: number;
  /** From the time a click was due to its response, in milliseconds. */
  p50: number;
  p99: number;
  max: number;
  /** Of the redirector: open connections and memory at most; those rejected, and evicted. */
  openMax: number;
  rejected: number;
  evicted: number;
  memoryMiBMax: number;
};

type Link = { url: string; key: string; shortUrl: string };

const SAMPLE_MS = 250;
const TICK_MS = 5;

const REDIRECTED_MS = 10_000;

const STORED_MS = 60_000;

export class FloodVisitors {
  readonly phases: Phase[] = [];
  readonly #topology: FloodedRedirector;
  readonly #link: Link;
  readonly #quietMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #pending = new Set<Promise<void>>();
  #latencies: number[] = [];
  #failures = 0;
  #sent = 0;
  /** The first one is that by which the link is tried. */
  #redirects = 1;

  static async start(
    topology: FloodedRedirector,
    { perSecond, quietMs }: { perSecond: number; quietMs: number },
  ): Promise<FloodVisitors> {
    const key = await topology.createKey();
    const links = `${topology.apis()[0]}/v1/links`;
    const created = await call(links, { key, body: { url: "https://example.com/flooded" } });
    const { id, alias } = linkSchema.parse(created.body);
    const shortUrl = `${topology.redirectors()[0]}/${alias}`;
    await eventually(async () => {
      const { status } = await fetch(shortUrl, { redirect: "manual" });
      if (status !== 302) throw new Error(`${shortUrl}: ${status}`);
    }, REDIRECTED_MS);
    const link = { url: `${links}/${id}`, key, shortUrl };
    const load = new FloodVisitors(topology, link, perSecond, quietMs);
    await load.#rest("before");
    return load;
  }

  private constructor(topology: FloodedRedirector, link: Link, perSecond: number, quietMs: number) {
    this.#topology = topology;
    this.#link = link;
    this.#quietMs = quietMs;
    const beganMs = performance.now();
    this.#timer = setInterval(() => {
      const due = ((performance.now() - beganMs) * perSecond) / 1_000;
      while (this.#sent < due) this.#click(beganMs + (this.#sent * 1_000) / perSecond);
    }, TICK_MS);
  }

  get sent(): number {
    return this.#sent;
  }

  /** Redirects that visitors got. */
  get redirects(): number {
    return this.#redirects;
  }

  async during(flood: string, inject: () => Promise<void>): Promise<void> {
    await this.#watch(flood, true, inject);
    await this.#rest(`after ${flood}`);
  }

  /** Waits until all clicks have their responses. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
  }

  /** Waits until as many clicks are stored as there were redirects; returns how many are. */
  async countStored(): Promise<number> {
    const { url, key } = this.#link;
    let stored = 0;
    await eventually(async () => {
      stored = linkSchema.parse((await call(url, { key })).body).clicks;
      if (stored < this.#redirects) throw new Error(`${stored} clicks are stored.`);
    }, STORED_MS).catch(() => undefined);
    return stored;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #click(dueMs: number): void {
    const address = visitorAddress(this.#sent++);
    const { origin, pathname } = new URL(this.#link.shortUrl);
    const clicking = rawRequest(origin, pathname, {}, address)
      .then(
        ({ status }) => status === 302,
        () => false,
      )
      .then((isRedirect) => {
        this.#latencies.push(performance.now() - dueMs);
        if (isRedirect) this.#redirects++;
        else this.#failures++;
      });
    this.#pending.add(clicking);
    void clicking.finally(() => this.#pending.delete(clicking));
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
      ...this.#takeClicks(),
      openMax,
      rejected: after.rejected - before.rejected,
      evicted: after.evicted - before.evicted,
      memoryMiBMax,
    });
  }

  /** What visitors noticed since the last call. */
  #takeClicks() {
    const latencies = this.#latencies;
    const at = (share: number) => (latencies.length === 0 ? 0 : round(quantile(latencies, share)));
    const failures = this.#failures;
    this.#latencies = [];
    this.#failures = 0;
    return { clicks: latencies.length, failures, p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

/**
 * The address of a visitor's `index`-th click, which no flood uses: one of 127.0.1.1 to
 * 127.0.250.250.
 */
const visitorAddress = (index: number): string =>
  `127.0.${1 + (Math.floor(index / 250) % 250)}.${1 + (index % 250)}`;

/**
 * A paying account that follows a link and changes it; with analytics and webhooks, it reads those
 * and gets these.
 */
import { createAccount } from "../../test/harness/admin.ts";
import { call, linkSchema } from "../../test/harness/api.ts";
import type { SharedStack } from "../../test/harness/stack.ts";

export const KINDS = ["redirects", "changes", "analytics", "webhooks"] as const;

/** Milliseconds that each took, and what failed. */
export type Figures = Record<(typeof KINDS)[number], number[]> & { failures: number };

type Done = Exclude<(typeof KINDS)[number], "webhooks">;

/** Milliseconds between two of each that it does; with analytics it has a webhook, too. */
type Every = Record<"redirects" | "changes", number> & { analytics?: number };

const EVERY_MS: Every = { redirects: 50, changes: 1_000, analytics: 1_000 };

/** What was changed last is delivered within it, or has failed. */
const DELIVERED_WITHIN_MS = 30_000;

const newFigures = (): Figures => ({
  redirects: [],
  changes: [],
  analytics: [],
  webhooks: [],
  failures: 0,
});

export class PayingClient {
  readonly #api: string;
  readonly #key: string;
  readonly #link: { id: string; short_url: string };
  readonly #every: Every;
  readonly #receiver: Bun.Server<undefined>;
  /** When each change was made that no webhook has told yet. */
  readonly #changedAt = new Map<string, number>();
  #figures = newFigures();
  #changes = 0;

  private constructor(
    api: string,
    key: string,
    link: { id: string; short_url: string },
    every: Every,
  ) {
    this.#api = api;
    this.#key = key;
    this.#link = link;
    this.#every = every;
    this.#receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        this.#receive(await request.text());
        return new Response(null, { status: 204 });
      },
    });
  }

  static async start(stack: SharedStack, every = EVERY_MS): Promise<PayingClient> {
    const { api_url: api } = stack.info();
    const { key } = await createAccount(stack, "business");
    const { body } = await call(`${api}/v1/links`, { key, body: { url: "https://example.com/" } });
    const client = new PayingClient(api, key, linkSchema.parse(body), every);
    if (every.analytics === undefined) return client;
    const url = `http://127.0.0.1:${client.#receiver.port}/`;
    const hook = await call(`${api}/v1/webhooks`, { key, body: { url, events: ["link.updated"] } });
    if (hook.status !== 201) throw new Error(`No webhook: ${JSON.stringify(hook.body)}`);
    return client;
  }

  /** Does all that it does while `work` runs; returns how long each took. */
  async measure(work: () => Promise<unknown>): Promise<Figures> {
    this.#figures = newFigures();
    const running = new AbortController();
    const all = Promise.all([
      this.#repeat("redirects", running.signal, () => this.#follow()),
      this.#repeat("analytics", running.signal, () => this.#send(`/analytics/${this.#link.id}`)),
      this.#repeat("changes", running.signal, () => this.#change()),
    ]);
    await work();
    running.abort();
    await all;
    const deadline = performance.now() + DELIVERED_WITHIN_MS;
    while (this.#changedAt.size > 0 && performance.now() < deadline) await Bun.sleep(100);
    this.#figures.failures += this.#changedAt.size;
    this.#changedAt.clear();
    return this.#figures;
  }

  async #repeat(kind: Done, signal: AbortSignal, work: () => Promise<boolean>): Promise<void> {
    const everyMs = this.#every[kind];
    if (everyMs === undefined) return;
    for (let next = performance.now(); !signal.aborted; next += everyMs) {
      const startedAt = performance.now();
      if (await work().catch(() => false)) this.#figures[kind].push(performance.now() - startedAt);
      else this.#figures.failures++;
      await Bun.sleep(Math.max(0, next + everyMs - performance.now()));
    }
  }

  async #follow(): Promise<boolean> {
    const response = await fetch(this.#link.short_url, { redirect: "manual" });
    await response.arrayBuffer();
    return response.status === 302;
  }

  async #send(path: string, body?: unknown): Promise<boolean> {
    const sent = body === undefined ? {} : { method: "PATCH", body };
    return (await call(`${this.#api}/v1${path}`, { key: this.#key, ...sent })).status === 200;
  }

  async #change(): Promise<boolean> {
    const change = `change=${++this.#changes}`;
    if (this.#every.analytics !== undefined) this.#changedAt.set(change, performance.now());
    const url = `https://example.com/?${change}`;
    const done = await this.#send(`/links/${this.#link.id}`, { url });
    if (!done) this.#changedAt.delete(change);
    return done;
  }

  #receive(text: string): void {
    const change = /change=\d+/.exec(text)?.[0] ?? "";
    const changedAt = this.#changedAt.get(change);
    if (changedAt === undefined) return;
    this.#figures.webhooks.push(performance.now() - changedAt);
    this.#changedAt.delete(change);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.stop(true);
  }
}

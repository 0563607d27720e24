/** Measures what webhooks must not delay: changes of a link, and redirects. */
import { call, linkSchema } from "../../test/harness/api.ts";
import type { Stack } from "../../test/harness/stack.ts";

/** Time between two of each. */
const WRITE_EVERY_MS = 100;
const REDIRECT_EVERY_MS = 20;

/** Milliseconds that each took. */
export type Neighbours = { writes: number[]; redirects: number[] };

/** Changes and follows a link of the key's account until it is stopped. */
export async function startNeighbours(stack: Stack, key: string) {
  const api = `${stack.info().api_url}/v1/links`;
  const { body } = await call(api, { key, body: { url: "https://example.com/" } });
  const { id, short_url } = linkSchema.parse(body);
  const measured: Neighbours = { writes: [], redirects: [] };
  let stopped = false;
  let changes = 0;

  async function repeat(everyMs: number, times: number[], work: () => Promise<unknown>) {
    for (let next = performance.now(); !stopped; next += everyMs) {
      const startedAt = performance.now();
      await work();
      times.push(performance.now() - startedAt);
      await Bun.sleep(Math.max(0, next + everyMs - performance.now()));
    }
  }

  const change = () =>
    call(`${api}/${id}`, { key, method: "PATCH", body: { title: `${changes++}` } });
  const follow = async () => {
    const response = await fetch(short_url, { redirect: "manual" });
    await response.arrayBuffer();
    if (response.status !== 302) throw new Error(`A redirect responded with ${response.status}.`);
  };
  const running = Promise.all([
    repeat(WRITE_EVERY_MS, measured.writes, change),
    repeat(REDIRECT_EVERY_MS, measured.redirects, follow),
  ]);
  return {
    async stop(): Promise<Neighbours> {
      stopped = true;
      await running;
      return measured;
    },
  };
}

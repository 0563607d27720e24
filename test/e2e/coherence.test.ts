/**
 * Goal: what the API has answered is what redirectors do, whatever happens to NATS and to the way there;
 * and nobody who follows a link they hold notices any of it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { createClient } from "../../clients/typescript/src/index.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startRedirector } from "../harness/processes.ts";
import { startRelay } from "../harness/relay.ts";
import { type Stack, startStack } from "../harness/stack.ts";

/** Longer than JetStream remembers a reader that does not ask any more (30 s). */
const CUT_MS = 33_000;
const PAUSED_MS = 6_000;
const BACK_MS = 30_000;

let stack: Stack;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  stack = await startStack();
  const { key } = await createAccount(stack, "enterprise");
  client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
});
afterAll(async () => await stack[Symbol.asyncDispose]());

type Made = { id: string; alias: string };

async function create(name: string, count: number): Promise<Made[]> {
  const made: Made[] = [];
  for (let i = 0; i < count; i++) {
    made.push(await client.links.create({ url: `https://example.com/${name}/${i}` }));
  }
  return made;
}

/** What a redirector does with a link now; one that says nothing for seconds fails the test. */
async function follow(base: string, { alias }: Made): Promise<string> {
  const answer = await fetch(new URL(alias, base), {
    redirect: "manual",
    signal: AbortSignal.timeout(5_000),
  });
  return `${answer.status} ${answer.headers.get("location") ?? ""}`.trim();
}

const followAll = (base: string, links: readonly Made[]): Promise<string[]> =>
  Promise.all(links.map((link) => follow(base, link)));

const isReady = async (metricsUrl: string): Promise<boolean> =>
  (await call(`${metricsUrl}/readyz`)).status === 200;

describe("a redirector that is cut off", () => {
  test("serves what it holds, and every change made meanwhile before it is ready again", async () => {
    const nats = startRelay(Number(new URL(stack.info().nats_url).port));
    const redirector = await startRedirector(stack, { NATS_URL: `nats://127.0.0.1:${nats.port}` });
    const links = await create("cut", 30);
    const before = links.map((_, i) => `302 https://example.com/cut/${i}`);
    await eventually(async () => expect(await isReady(redirector.metricsUrl)).toBe(true), BACK_MS);
    expect(await followAll(redirector.url, links)).toEqual(before);

    nats.cut();
    const cutAt = Date.now();
    await eventually(async () => expect(await isReady(redirector.metricsUrl)).toBe(false), BACK_MS);
    for (const [i, { id }] of links.entries()) {
      if (i % 3 === 0) await client.links.update(id, { url: `https://example.com/cut/${i}/new` });
      if (i % 3 === 1) await client.links.delete(id);
    }
    const [fresh] = await create("cut-fresh", 1);
    expect(await followAll(redirector.url, links)).toEqual(before);
    await Bun.sleep(CUT_MS - (Date.now() - cutAt));
    expect(await followAll(redirector.url, links)).toEqual(before);

    nats.mend();
    await eventually(async () => expect(await isReady(redirector.metricsUrl)).toBe(true), BACK_MS);
    expect(await followAll(redirector.url, links)).toEqual(
      links.map((_, i) =>
        i % 3 === 1 ? "404" : `302 https://example.com/cut/${i}${i % 3 === 0 ? "/new" : ""}`,
      ),
    );
    expect(await follow(redirector.url, fresh ?? { id: "", alias: "" })).toBe(
      "302 https://example.com/cut-fresh/0",
    );
    await redirector.stop();
    nats.stop();
  });
});

describe("NATS", () => {
  test("that says nothing holds nobody up, and changes made meanwhile arrive when it speaks again", async () => {
    const base = stack.info().short_url;
    const [kept, changed] = await create("paused", 2);
    if (kept === undefined || changed === undefined) throw new Error("Two links were made.");
    expect(await followAll(base, [kept, changed])).toEqual([
      "302 https://example.com/paused/0",
      "302 https://example.com/paused/1",
    ]);
    const pid = Number(stack.info().pids.nats);
    process.kill(pid, "SIGSTOP");
    let followed = 1;
    let late: Made;
    try {
      const pausedAt = Date.now();
      await client.links.update(changed.id, { url: "https://example.com/paused/new" });
      late = await client.links.create({ url: "https://example.com/paused/late" });
      while (Date.now() - pausedAt < PAUSED_MS) {
        expect(await follow(base, kept)).toBe("302 https://example.com/paused/0");
        followed++;
        await Bun.sleep(20);
      }
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await eventually(async () => {
      expect(await followAll(base, [changed, late])).toEqual([
        "302 https://example.com/paused/new",
        "302 https://example.com/paused/late",
      ]);
    }, BACK_MS);
    await eventually(async () => {
      expect((await client.links.get(kept.id)).clicks).toBe(followed);
    }, BACK_MS);
  });

  test("that comes back with nothing is filled again, and no click is lost that waited elsewhere", async () => {
    const links = await create("emptied", 10);
    const [first] = links;
    if (first === undefined) throw new Error("Ten links were made.");
    const base = () => stack.info().short_url;
    expect(await follow(base(), first)).toBe("302 https://example.com/emptied/0");
    await eventually(
      async () => expect((await client.links.get(first.id)).clicks).toBe(1),
      BACK_MS,
    );

    // So that it is not started again before its store is gone.
    const { pid } = stack.supervisor;
    const old = Number(stack.info().pids.nats);
    process.kill(pid, "SIGSTOP");
    process.kill(old, "SIGKILL");
    let followed = 1;
    try {
      for (let i = 0; i < 20; i++) {
        expect(await follow(base(), first)).toBe("302 https://example.com/emptied/0");
        followed++;
      }
      rmSync(join(stack.dataDir, "nats", "store"), { recursive: true });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await eventually(async () => expect(stack.info().pids.nats).not.toBe(old), BACK_MS);
    await client.links.delete(links[9]?.id ?? "");
    await eventually(async () => {
      const { queued } = await admin<{ queued: number }>(stack, ["links", "resync"]);
      expect(queued).toBeGreaterThan(8);
    }, BACK_MS);
    await eventually(async () => {
      expect(await followAll(base(), links.slice(1))).toEqual([
        ...Array.from({ length: 8 }, (_, i) => `302 https://example.com/emptied/${i + 1}`),
        "404",
      ]);
    }, BACK_MS);
    await eventually(async () => {
      expect((await client.links.get(first.id)).clicks).toBe(followed);
    }, BACK_MS);
  });
});

/**
 * Goal: redirectors serve what the API has acknowledged, whatever happens to NATS and the
 * connection to it; and visitors of cached links notice none of it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import * as z from "zod";

import { createClient } from "../../clients/typescript/src/index.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { removeUnusedConsumers } from "../harness/log-consumers.ts";
import { startRedirector } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { replaceHost, startTcpProxy } from "../harness/tcp-proxy.ts";

const PAUSED_MS = 6_000;
const RECOVERY_TIMEOUT_MS = 30_000;

let stack: Stack;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  stack = await startStack();
  const { key } = await createAccount(stack, "enterprise");
  client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
});
afterAll(async () => await stack[Symbol.asyncDispose]());

type CreatedLink = { id: string; alias: string };

async function create(name: string, count: number): Promise<CreatedLink[]> {
  const links: CreatedLink[] = [];
  for (let i = 0; i < count; i++) {
    links.push(await client.links.create({ url: `https://example.com/${name}/${i}` }));
  }
  return links;
}

/** Follows a link; returns status and location. Fails if there is no response for seconds. */
async function follow(base: string, { alias }: CreatedLink): Promise<string> {
  const response = await fetch(new URL(alias, base), {
    redirect: "manual",
    signal: AbortSignal.timeout(5_000 * SLOWDOWN_MAX),
  });
  return `${response.status} ${response.headers.get("location") ?? ""}`.trim();
}

const followAll = (base: string, links: readonly CreatedLink[]): Promise<string[]> =>
  Promise.all(links.map((link) => follow(base, link)));

const readiness = z.object({ warnings: z.object({ links_feed: z.string().optional() }) });

/**
 * Whether a redirector says that its links are up to date. It is ready in any case, as it can
 * answer.
 */
async function isUpToDate(metricsUrl: string): Promise<boolean> {
  const { status, body } = await call(`${metricsUrl}/readyz`);
  expect(status).toBe(200);
  return readiness.parse(body).warnings.links_feed === undefined;
}

describe("a redirector that is disconnected from NATS", () => {
  test("serves cached links, and all changes made in the meantime before it is up to date again", async () => {
    const nats = startTcpProxy(Number(new URL(stack.info().nats_url).port));
    const redirector = await startRedirector(stack, {
      NATS_URL: replaceHost(stack.info().nats_url, "127.0.0.1", nats.port),
    });
    const links = await create("cut", 30);
    const before = links.map((_, i) => `302 https://example.com/cut/${i}`);
    await eventually(
      async () => expect(await isUpToDate(redirector.metricsUrl)).toBe(true),
      RECOVERY_TIMEOUT_MS,
    );
    expect(await followAll(redirector.url, links)).toEqual(before);

    nats.cut();
    await eventually(
      async () => expect(await isUpToDate(redirector.metricsUrl)).toBe(false),
      RECOVERY_TIMEOUT_MS,
    );
    for (const [i, { id }] of links.entries()) {
      if (i % 3 === 0) await client.links.update(id, { url: `https://example.com/cut/${i}/new` });
      if (i % 3 === 1) await client.links.delete(id);
    }
    const [fresh] = await create("cut-fresh", 1);
    expect(await followAll(redirector.url, links)).toEqual(before);
    // Its consumer is gone, as after half a minute; that of the stack's redirector stays.
    await eventually(async () => {
      const { used, unused } = await removeUnusedConsumers(() =>
        connect(natsLogin(stack.info().nats_url)),
      );
      expect([used.length, unused.length]).toEqual([1, 0]);
    }, RECOVERY_TIMEOUT_MS);
    expect(await followAll(redirector.url, links)).toEqual(before);

    nats.mend();
    await eventually(
      async () => expect(await isUpToDate(redirector.metricsUrl)).toBe(true),
      RECOVERY_TIMEOUT_MS,
    );
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

describe("a failure of NATS", () => {
  test("that freezes it delays neither redirects nor the API, and changes arrive when it continues", async () => {
    const base = stack.info().short_url;
    const [unchanged, changed] = await create("paused", 2);
    if (unchanged === undefined || changed === undefined)
      throw new Error("Two links were created.");
    expect(await followAll(base, [unchanged, changed])).toEqual([
      "302 https://example.com/paused/0",
      "302 https://example.com/paused/1",
    ]);
    const pid = Number(stack.info().pids.nats);
    process.kill(pid, "SIGSTOP");
    let followed = 1;
    let late: CreatedLink;
    try {
      const pausedAt = Date.now();
      await client.links.update(changed.id, { url: "https://example.com/paused/new" });
      late = await client.links.create({ url: "https://example.com/paused/late" });
      while (Date.now() - pausedAt < PAUSED_MS) {
        expect(await follow(base, unchanged)).toBe("302 https://example.com/paused/0");
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
    }, RECOVERY_TIMEOUT_MS);
    await eventually(async () => {
      expect((await client.links.get(unchanged.id)).clicks).toBe(followed);
    }, RECOVERY_TIMEOUT_MS);
  });

  test("that loses its store is filled again by itself, and clicks stored elsewhere are not lost", async () => {
    const links = await create("emptied", 10);
    const [first] = links;
    if (first === undefined) throw new Error("Ten links were created.");
    const base = () => stack.info().short_url;
    expect(await follow(base(), first)).toBe("302 https://example.com/emptied/0");
    await eventually(
      async () => expect((await client.links.get(first.id)).clicks).toBe(1),
      RECOVERY_TIMEOUT_MS,
    );

    // Freezes the supervisor, so that it does not restart NATS before its store is removed.
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
    await eventually(async () => expect(stack.info().pids.nats).not.toBe(old), RECOVERY_TIMEOUT_MS);
    await client.links.delete(links[9]?.id ?? "");
    await eventually(async () => {
      expect(await followAll(base(), links.slice(1))).toEqual([
        ...Array.from({ length: 8 }, (_, i) => `302 https://example.com/emptied/${i + 1}`),
        "404",
      ]);
    }, RECOVERY_TIMEOUT_MS);
    await eventually(async () => {
      expect((await client.links.get(first.id)).clicks).toBe(followed);
    }, RECOVERY_TIMEOUT_MS);
  });
});

/** Goal: processes are replaced one after the other, and nobody who asks meanwhile notices. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";

import { createAccount } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/ports.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const REDIRECTORS = 4;
const CLIENTS = 16;
const PER_SECOND = 5_000;

/** What a listener had not accepted goes to the others on its port (Linux 5.14). */
const MIGRATE = "/proc/sys/net/ipv4/tcp_migrate_req";

let stack: Stack;
let migrateBefore: string | undefined;

beforeAll(async () => {
  stack = await startStack();
  if (!existsSync(MIGRATE)) return;
  try {
    migrateBefore = readFileSync(MIGRATE, "utf8");
    writeFileSync(MIGRATE, "1");
  } catch {
    console.warn(
      "\n!!! tcp_migrate_req cannot be set here: a few new connections may be refused\n",
    );
  }
});
afterAll(async () => {
  if (migrateBefore !== undefined) writeFileSync(MIGRATE, migrateBefore);
  await stack[Symbol.asyncDispose]();
});

/** Keeps connections alive, and gives one up when the answer says so: as browsers and proxies do. */
const createAgent = () => new Agent({ keepAlive: true, maxSockets: 1 });

function ask(agent: Agent, url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers, timeout: 10_000 }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
      answer.on("error", reject);
    });
    asked.on("timeout", () => asked.destroy(new Error("No answer within 10 s.")));
    asked.on("error", reject);
    asked.end();
  });
}

type Seen = { statuses: Map<number, number>; failures: string[] };

/** Asks without pause, at a bounded rate in all, until `work` is done. */
async function during(
  urls: readonly string[],
  work: () => Promise<void>,
  headers = {},
): Promise<Seen> {
  const seen: Seen = { statuses: new Map(), failures: [] };
  const pauseMs = (CLIENTS / PER_SECOND) * 1_000;
  let working = true;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const agents = new Map(urls.map((url) => [url, createAgent()]));
    let due = performance.now();
    for (let i = client; working; i++) {
      const url = urls[i % urls.length] ?? "";
      const agent = agents.get(url);
      if (agent === undefined) return;
      try {
        const status = await ask(agent, url, headers);
        seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
      } catch (error) {
        seen.failures.push(String(error));
      }
      due += pauseMs;
      const ahead = due - performance.now();
      if (ahead > 1) await Bun.sleep(ahead);
    }
    for (const agent of agents.values()) agent.destroy();
  });
  await work();
  working = false;
  await Promise.all(clients);
  return seen;
}

test("redirectors on one port are replaced without a failed request, and without a lost click", async () => {
  const port = freePort();
  const { key } = await createAccount(stack, "enterprise");
  const body = { url: "https://example.com/rolling" };
  const made = await call(`${stack.info().api_url}/v1/links`, { key, body });
  const link = linkAnswer.parse(made.body);
  const start = (i: number): Promise<ExtraProcess> => {
    const journal = join(stack.dataDir, `rolling-${i}`);
    mkdirSync(journal, { recursive: true });
    return startRedirector(stack, { REDIRECTOR_PORT: String(port), JOURNAL_DIR: journal });
  };
  const running: ExtraProcess[] = [];
  for (let i = 0; i < REDIRECTORS; i++) running.push(await start(i));

  const seen = await during([`http://127.0.0.1:${port}/${link.alias}`], async () => {
    for (let i = 0; i < REDIRECTORS; i++) {
      await running[i]?.stop();
      running[i] = await start(i);
    }
  });
  const answered = seen.statuses.get(302) ?? 0;
  console.log(`${answered} answered`);
  expect(seen.failures).toEqual([]);
  expect([...seen.statuses.keys()]).toEqual([302]);
  expect(answered).toBeGreaterThan(5_000);
  await eventually(async () => {
    const { body: told } = await call(`${stack.info().api_url}/v1/links/${link.id}`, { key });
    expect(linkAnswer.parse(told).clicks).toBe(answered);
  }, 60_000);
  await Promise.all(running.map((one) => one.stop()));
});

test("API processes behind a proxy are replaced without a failed request", async () => {
  const { key } = await createAccount(stack, "enterprise", {
    minute: 10_000_000,
    burst: 10_000_000,
    day: 100_000_000,
  });
  const running = [await startApi(stack), await startApi(stack)];
  let turn = 0;
  // As a proxy does: whoever says that it is going, or is gone, gets nothing new; reading is tried elsewhere.
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(asked) {
      const { pathname, search } = new URL(asked.url);
      const first = turn++;
      for (let i = 0; i < running.length; i++) {
        const target = running[(first + i) % running.length];
        try {
          return await fetch(`${target?.url}${pathname}${search}`, { headers: asked.headers });
        } catch {
          // The next one.
        }
      }
      return new Response("Nobody there.", { status: 502 });
    },
  });
  const authorization = { authorization: `Bearer ${key}` };
  const seen = await during(
    [`${proxy.url.origin}/v1/links?limit=1`],
    async () => {
      for (let i = 0; i < running.length; i++) {
        await running[i]?.stop();
        running[i] = await startApi(stack);
        await Bun.sleep(1_000);
      }
    },
    authorization,
  );
  expect(seen.failures).toEqual([]);
  expect([...seen.statuses.keys()]).toEqual([200]);
  await proxy.stop(true);
  await Promise.all(running.map((one) => one.stop()));
});

/** Goal: processes are replaced one after another without their clients noticing. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { createCertificates } from "../harness/certificates.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { type ExtraProcess, startApi, startRedirector } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";

const REDIRECTORS = 4;
const CLIENTS = 16;

/**
 * Enough for requests on each connection at any time, and few enough for processes to start beside
 * them.
 */
const PER_SECOND = 2_000;

/**
 * The same for the API, whose requests cost far more. As many as it can take, or as many at once,
 * would leave PostgreSQL no time for the connections of a new process, which may wait 2 s.
 */
const API_LOAD = { clients: 4, perSecond: 100 };

/** With it, connections in a closing listener's queue go to the others on its port (Linux 5.14). */
const MIGRATE = "/proc/sys/net/ipv4/tcp_migrate_req";

const stack = await forFile(startStack());
if (existsSync(MIGRATE))
  try {
    await forFile(readFileSync(MIGRATE, "utf8"), (before) => writeFileSync(MIGRATE, before));
    writeFileSync(MIGRATE, "1");
  } catch {
    console.warn(
      "\n!!! tcp_migrate_req cannot be set on this machine: a few new connections may be reset\n",
    );
  }

/** After this, a request counts as failed. */
const RESPONSE_MS_MAX = 10_000 * SLOWDOWN_MAX;

/** Keeps connections alive and closes them when a response says so, like browsers and proxies. */
const createAgent = () => new Agent({ keepAlive: true, maxSockets: 1 });

function sendRequest(
  agent: Agent | false,
  url: string,
  fields: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  // Requests without a user agent are a bot's.
  const headers = { "user-agent": "curl/8.9.1", ...fields };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers, timeout: RESPONSE_MS_MAX }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("No response.")));
    sent.on("error", reject);
    sent.end();
  });
}

type Results = { statuses: Map<number, number>; failures: string[] };

/** Whether a client keeps its connections, or opens one for each request. */
type Connections = "kept" | "new";

type SendOptions = {
  headers?: Record<string, string>;
  connections?: Connections;
  clients?: number;
  perSecond?: number;
};

/**
 * Sends requests continuously, at a limited total rate, until `work` is done; it is given the
 * results so far.
 */
async function sendDuring(
  urls: readonly string[],
  work: (results: Results) => Promise<void>,
  {
    headers = {},
    connections = "kept",
    clients: count = CLIENTS,
    perSecond = PER_SECOND,
  }: SendOptions = {},
): Promise<Results> {
  const results: Results = { statuses: new Map(), failures: [] };
  const pauseMs = (count / perSecond) * 1_000;
  let working = true;
  const clients = Array.from({ length: count }, async (_, client) => {
    const agents = new Map(urls.map((url) => [url, createAgent()]));
    let due = performance.now();
    for (let i = client; working; i++) {
      const url = urls[i % urls.length] ?? "";
      const agent = agents.get(url);
      if (agent === undefined) return;
      try {
        const { status, body } = await sendRequest(connections === "kept" && agent, url, headers);
        if (status >= 500) results.failures.push(`${status} ${body}`);
        results.statuses.set(status, (results.statuses.get(status) ?? 0) + 1);
      } catch (error) {
        results.failures.push(String(error));
      }
      due += pauseMs;
      const ahead = due - performance.now();
      if (ahead > 1) await Bun.sleep(ahead);
    }
    for (const agent of agents.values()) agent.destroy();
  });
  await work(results);
  working = false;
  await Promise.all(clients);
  return results;
}

test.each<Connections>(["kept", "new"])(
  "redirectors on one port are replaced without a failed request or a lost click, on %s connections",
  async (connections) => {
    const port = findFreePort();
    const { key } = await createAccount(stack, "enterprise");
    const body = { url: "https://example.com/rolling" };
    const created = await call(`${stack.info().api_url}/v1/links`, { key, body });
    const link = linkSchema.parse(created.body);
    const start = (i: number): Promise<ExtraProcess> => {
      const journal = join(stack.dataDir, `rolling-${connections}-${i}`);
      mkdirSync(journal, { recursive: true });
      return startRedirector(stack, { REDIRECTOR_PORT: String(port), JOURNAL_DIR: journal });
    };
    const running = await Promise.all(Array.from({ length: REDIRECTORS }, (_, i) => start(i)));

    const enough = connections === "kept" ? 5_000 : 1_000;
    const replaceAll = async ({ statuses }: Results) => {
      for (let i = 0; i < REDIRECTORS; i++) {
        await running[i]?.stop();
        running[i] = await start(i);
        await eventually(async () => {
          const share = (enough * (i + 1)) / REDIRECTORS;
          expect(statuses.get(302) ?? 0).toBeGreaterThan(share);
        });
      }
    };
    const url = `http://127.0.0.1:${port}/${link.alias}`;
    const results = await sendDuring([url], replaceAll, { connections });
    const redirects = results.statuses.get(302) ?? 0;
    console.log(`${redirects} redirects`);
    expect(results.failures).toEqual([]);
    expect([...results.statuses.keys()]).toEqual([302]);
    expect(redirects).toBeGreaterThan(enough);
    await eventually(async () => {
      const { body: updated } = await call(`${stack.info().api_url}/v1/links/${link.id}`, { key });
      expect(linkSchema.parse(updated).clicks).toBe(redirects);
    }, 60_000);
    await Promise.all(running.map((process) => process.stop()));
  },
);

test("API processes behind a proxy are replaced without a failed request", async () => {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const running = await Promise.all([startApi(stack), startApi(stack)]);
  let turn = 0;
  // Behaves like a proxy: sends nothing new to a process that is stopping, and retries reads on
  // another one.
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      const { pathname, search } = new URL(incoming.url);
      const first = turn++;
      for (let i = 0; i < running.length; i++) {
        const target = running[(first + i) % running.length];
        try {
          return await fetch(`${target?.url}${pathname}${search}`, { headers: incoming.headers });
        } catch {
          // Tries the next process.
        }
      }
      return new Response("No process is available.", { status: 502 });
    },
  });
  const authorization = { authorization: `Bearer ${key}` };
  const results = await sendDuring(
    [`${proxy.url.origin}/v1/links?limit=1`],
    async () => {
      for (let i = 0; i < running.length; i++) {
        await running[i]?.stop();
        running[i] = await startApi(stack);
        await Bun.sleep(1_000);
      }
    },
    { headers: authorization, ...API_LOAD },
  );
  expect(results.failures).toEqual([]);
  expect([...results.statuses.keys()]).toEqual([200]);
  await proxy.stop(true);
  await Promise.all(running.map((process) => process.stop()));
});

test("API processes that share a port are replaced without a failed request", async () => {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const port = findFreePort();
  const start = (i: number): Promise<ExtraProcess> =>
    startApi(stack, { API_PORT: String(port), INSTANCE: String(i + 1) });
  const running = await Promise.all([start(0), start(1)]);
  const origin = `http://127.0.0.1:${port}`;
  const results = await sendDuring(
    [`${origin}/v1/links?limit=1`, `${origin}/healthz`],
    async () => {
      for (let i = 0; i < running.length; i++) {
        await running[i]?.stop();
        running[i] = await start(i);
      }
    },
    { headers: { authorization: `Bearer ${key}` }, ...API_LOAD },
  );
  console.log(`${results.statuses.get(200)} requests`);
  expect(results.failures).toEqual([]);
  expect([...results.statuses.keys()]).toEqual([200]);
  await Promise.all(running.map((process) => process.stop()));
});

/** Runs the `openssl` program as a TLS client of one request; returns what it printed. */
async function openTls({ url }: ExtraProcess, alias: string, args: string[]): Promise<string> {
  const { host } = new URL(url);
  const command = ["openssl", "s_client", "-connect", host, "-tls1_3", "-ign_eof", ...args];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  await child.stdin.write(`GET /${alias} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  await child.stdin.end();
  return await new Response(child.stdout).text();
}

test("a TLS session is resumed by the process that began it; another one on its port begins a new one", async () => {
  const { api_url, api_key: key } = stack.info();
  const created = await call(`${api_url}/v1/links`, { key, body: { url: "https://example.com/" } });
  const { alias } = linkSchema.parse(created.body);
  const { cert, key: tlsKey } = createCertificates(stack.dataDir);
  const env = { TLS_CERT_FILE: cert, TLS_KEY_FILE: tlsKey };
  const session = join(stack.dataDir, "session.pem");
  // One after the other on one port, so that it is known which of them answers.
  const first = await startRedirector(stack, env);
  const again = { ...env, REDIRECTOR_PORT: new URL(first.url).port };
  expect(await openTls(first, alias, ["-sess_out", session])).toContain("New, TLSv1.3");
  const resumed = await openTls(first, alias, ["-sess_in", session]);
  expect(resumed).toContain("Reused, TLSv1.3");
  expect(resumed).toContain("HTTP/1.1 302 Found");
  await first.stop();
  const second = await startRedirector(stack, again);
  const other = await openTls(second, alias, ["-sess_in", session]);
  // Bun has no shared ticket keys. When this fails, docs/operations.md can be shorter.
  expect(other).toContain("New, TLSv1.3");
  expect(other).toContain("HTTP/1.1 302 Found");
  await second.stop();
});

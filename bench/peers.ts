/**
 * `bun run bench:peers [--seconds N] [--rounds N] ['NAME API URL KEY PID' …]`: Shorthop beside
 * nginx and other URL shorteners that run on this machine, each described by a text such as `Kutt
 * kutt http://127.0.0.1:8102 KEY 1234`: `API` is `kutt` or `yourls`, and all processes of the
 * shortener descend from `PID`.
 *
 * The servers take turns. In each round one creates 1,000 links through its API, 16 requests at
 * once, and redirects to those of the first round: 64 connections of wrk with the headers of a
 * browser. The load, the server and its stores share all cores. CPU time is that of all processes
 * of the server, until what follows its responses has ended, such as storing clicks.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { createAccount, UNLIMITED } from "../test/harness/admin.ts";
import { readTreeCpu, treeBytes } from "../test/harness/process-usage.ts";
import { median, publish, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { generateLinks, type Links } from "./redirect/links.ts";
import { hasNginx, nginxCommand, nginxVersion } from "./redirect/nginx.ts";
import { wrk } from "./redirect/server.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "6" },
    rounds: { type: "string", default: "3" },
  },
});
const SECONDS = Number(options.seconds);
const ROUNDS = Number(options.rounds);
const LINKS = 1_000;
const CREATED_AT_ONCE = 16;
const CONNECTIONS = 64;
const NGINX_PORT = 18_450;
/** A server that takes less of a core for a second has nothing left to do. */
const IDLE_CORES = 0.15;
const IDLE_WAIT_MAX_S = 40;

type Link = Links[number];
type Server = {
  name: string;
  pid: number;
  url: string;
  /** The request that creates a link; none for a server without an API. */
  creation?: (link: Link) => Request;
};

const postJson = (url: string, headers: Record<string, string>, body: unknown) =>
  new Request(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const CREATIONS: Record<string, (url: string, key: string, link: Link) => Request> = {
  shorthop: (url, key, { alias, destination }) =>
    postJson(
      `${url}/v1/links`,
      { authorization: `Bearer ${key}` },
      { url: destination, alias, title: alias },
    ),
  kutt: (url, key, { alias, destination }) =>
    postJson(
      `${url}/api/v2/links`,
      { "x-api-key": key },
      { target: destination, customurl: alias, description: alias },
    ),
  // Without a title YOURLS would request the page.
  yourls: (url, key, { alias, destination }) =>
    new Request(`${url}/yourls-api.php`, {
      method: "POST",
      body: new URLSearchParams({
        signature: key,
        action: "shorturl",
        format: "json",
        url: destination,
        keyword: alias,
        title: alias,
      }),
    }),
};

await using stack = await startStack({ empty: true });
const { api_url, short_url } = stack.info();
const { key: ownKey } = await createAccount(stack, "enterprise", {
  ...UNLIMITED,
  quotas: { links_per_day: UNLIMITED.day },
});
const servers: Server[] = [
  {
    name: "Shorthop",
    pid: stack.supervisor.pid,
    url: short_url,
    creation: (link) => create("shorthop", api_url, ownKey, link),
  },
  ...positionals.map(readPeer),
];
const dir = mkdtempSync(join(tmpdir(), "shorthop-peers-"));
await using nginx = hasNginx()
  ? Bun.spawn(nginxCommand(dir, linksOf(0), NGINX_PORT, true))
  : undefined;
if (nginx !== undefined)
  servers.push({ name: "nginx", pid: nginx.pid, url: `http://127.0.0.1:${NGINX_PORT}` });

/** `idleS` is how long what follows took after the last response. */
type Rate = { perSecond: number; micros: number; idleS: number };
type Redirects = Rate & { p50: number; p99: number; failed: number; bytes: number };
const created: Record<string, Rate[]> = {};
const redirected: Record<string, Redirects[]> = {};
for (let turn = 0; turn < ROUNDS; turn++)
  for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
    if (server.creation !== undefined)
      (created[server.name] ??= []).push(await measureCreation(server, turn));
    await checkRedirects(server);
    (redirected[server.name] ??= []).push(await measureRedirects(server));
  }

const rows = servers.map(({ name }) => {
  const creations = created[name] ?? [];
  const redirects = redirected[name] ?? [];
  return {
    server: name,
    "links created/s": Math.round(median(creations.map((rate) => rate.perSecond))),
    "CPU ms/link": round(median(creations.map((rate) => rate.micros)) / 1_000),
    "redirects/s": Math.round(median(redirects.map((rate) => rate.perSecond))),
    "CPU µs/redirect": round(median(redirects.map((rate) => rate.micros))),
    "p50 ms": round(median(redirects.map((rate) => rate.p50)) / 1_000),
    "p99 ms": round(median(redirects.map((rate) => rate.p99)) / 1_000),
    "s until idle": median(redirects.map((rate) => rate.idleS)),
    "memory MiB": Math.round(median(redirects.map((rate) => rate.bytes)) / 2 ** 20),
    failed: redirects.reduce((sum, rate) => sum + rate.failed, 0),
  };
});
publish({
  name: "peers",
  versions: { nginx: nginxVersion() },
  rows,
  targets: [],
});
rmSync(dir, { recursive: true });

/** The links of a round. Their destinations have addresses, as Kutt looks up the names of hosts. */
function linksOf(turn: number): Links {
  return generateLinks(LINKS, turn * LINKS).map(({ alias, destination }, i) => ({
    alias,
    destination: destination.replace(/shop-[^/]+/, `203.0.113.${1 + (i % 254)}`),
  }));
}

function readPeer(text: string): Server {
  const [name = "", api = "", url = "", key = "", pid] = text.split(" ");
  return { name, pid: Number(pid), url, creation: (link) => create(api, url, key, link) };
}

function create(api: string, url: string, key: string, link: Link): Request {
  const creation = CREATIONS[api];
  if (creation === undefined) throw new Error(`No API is called "${api}".`);
  return creation(url, key, link);
}

/** Measures what a server does, and what its processes do until they are idle. */
async function measure(pid: number, load: () => Promise<number>): Promise<Rate> {
  const cpuBefore = readTreeCpu(pid);
  const startedAt = performance.now();
  const count = await load();
  const perSecond = (count / (performance.now() - startedAt)) * 1_000;
  const idleS = await waitUntilIdle(pid);
  return { perSecond, micros: ((readTreeCpu(pid) - cpuBefore) * 1_000) / count, idleS };
}

/** Waits for a bounded time; returns the seconds. */
async function waitUntilIdle(pid: number): Promise<number> {
  for (let waited = 0; waited < IDLE_WAIT_MAX_S; waited++) {
    const before = readTreeCpu(pid);
    await Bun.sleep(1_000);
    if ((readTreeCpu(pid) - before) / 1_000 < IDLE_CORES) return waited;
  }
  return IDLE_WAIT_MAX_S;
}

function measureCreation(server: Server, turn: number): Promise<Rate> {
  return measure(server.pid, async () => {
    const links = linksOf(turn).values();
    await Promise.all(
      Array.from({ length: CREATED_AT_ONCE }, async () => {
        for (const link of links) await createLink(server, link);
      }),
    );
    return LINKS;
  });
}

async function createLink({ name, creation }: Server, link: Link): Promise<void> {
  if (creation === undefined) throw new Error(`${name} has no API.`);
  const response = await fetch(creation(link));
  const text = await response.text();
  if (!response.ok) throw new Error(`${name} created no link: ${response.status} ${text}`);
}

/** A redirect of a link that is unknown goes to another page of a server. */
async function checkRedirects({ name, url }: Server): Promise<void> {
  for (const { alias, destination } of linksOf(0).slice(-10)) {
    const response = await fetch(`${url}/${alias}`, {
      redirect: "manual",
      headers: { host: "localhost" },
    });
    const location = response.headers.get("location");
    if (location !== destination)
      throw new Error(`${name} redirects /${alias} to ${location}: ${response.status}`);
  }
}

async function measureRedirects({ pid, url }: Server): Promise<Redirects> {
  await follow(url, 1);
  await waitUntilIdle(pid);
  let result = { p50: 0, p99: 0, failed: 0 };
  const rate = await measure(pid, async () => {
    const { requests, ...others } = await follow(url, SECONDS);
    result = others;
    return requests;
  });
  return { ...rate, ...result, bytes: treeBytes(pid) };
}

async function follow(url: string, seconds: number) {
  const [requests = 0, , failed = 0, p50 = 0, p99 = 0] = await wrk("wrk.lua", url, {
    seconds,
    connections: CONNECTIONS,
    args: [String(LINKS), "uniform"],
    core: null,
  });
  if (requests === 0) throw new Error(`${url} does not respond.`);
  return { requests: requests - failed, failed, p50, p99 };
}

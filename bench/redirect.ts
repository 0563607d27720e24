/**
 * `bun run bench:redirect [--seconds N] [--rounds N] [--servers abcdefghij] [--links N] [--beside
 * DIR]`: the CPU cost of a redirect by our redirector, including its journal, against nginx with
 * the same links and against `Bun.serve`. The servers alternate on one core, the load comes from
 * the other: 64 connections, headers of a browser, 100,000 links.
 *
 * In rows f to i every link has redirect settings. With `--beside`, row k is the
 * redirector of another version, from a checkout with its `node_modules`; its ratios to row a are
 * medians of those of the rounds. A click limit (j) leases clicks for two seconds: with `--links
 * 100`, nearly every click has a lease in hand.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import type { RedirectSettings } from "../shared/contracts/redirect-settings.ts";
import { startNats } from "../test/harness/nats.ts";
import { readThreadCpu } from "../test/harness/process-usage.ts";
import { median, publish, round } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, redirectorEnv, warmCache } from "./redirect/links.ts";
import { hasNginx, nginxCommand, nginxVersion } from "./redirect/nginx.ts";
import { LOAD_CORE, SERVER_CORE } from "./redirect/server.ts";
import { limitOf, rulesOf, SPLIT } from "./redirect/settings.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    servers: { type: "string", default: "abcdefghi" },
    links: { type: "string", default: "100000" },
    beside: { type: "string" },
  },
});
const SECONDS = Number(options.seconds);
const ROUNDS = Number(options.rounds);
const CONNECTIONS = 64;
const LINKS = Number(options.links);

const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
const links = generateLinks(LINKS);
const linksFile = join(dir, "links.txt");
writeFileSync(linksFile, links.map((l) => `${l.alias} ${l.destination}`).join("\n"));

if (Bun.which("wrk") === null) throw new Error("wrk is not installed (apt-get install wrk).");

await using nats = await startNats();
await using log = await BenchLog.open(nats.url);
log.keepAlive();

type Server = {
  name: string;
  command: string[];
  env?: Record<string, string>;
  /** The working directory; by default this checkout. */
  cwd?: string | undefined;
  port: number;
  /** The redirect settings of a link; undefined for a server that reads no links log. */
  settingsOf?: () => RedirectSettings | undefined;
  settle?: () => Promise<void>;
};

const port = (n: number) => 18_400 + n;
const servers: Server[] = [
  redirector("(a) redirector, clicks in its journal", 0, () => undefined),
  redirector("(f) redirector, links with 1 rule", 5, () => rulesOf(1)),
  redirector("(g) redirector, links with 5 rules", 6, () => rulesOf(5)),
  redirector("(h) redirector, links with 20 rules", 7, () => rulesOf(20)),
  redirector("(i) redirector, links with a split", 8, () => SPLIT),
  redirector("(j) redirector, links with a limit", 9, limitOf),
  ...(options.beside === undefined
    ? []
    : [redirector("(k) redirector of --beside", 10, () => undefined, options.beside)]),
  plain("(b) Bun.serve, Map, Response, log", "plain"),
  ...(hasNginx()
    ? [
        {
          name: "(c) nginx, buffered log",
          command: nginxCommand(join(dir, "c"), links, port(2), true),
          port: port(2),
        },
        {
          name: "(d) nginx, no log",
          command: nginxCommand(join(dir, "d"), links, port(3), false),
          port: port(3),
        },
      ]
    : []),
  plain("(e) Bun.serve, one constant route", "constant"),
].filter(({ name }) => `${options.servers}k`.includes(name.charAt(1)));

function redirector(
  name: string,
  n: number,
  settingsOf: () => RedirectSettings | undefined,
  cwd?: string,
): Server {
  return {
    name,
    cwd,
    settingsOf,
    command: [process.execPath, "redirector/main.ts"],
    port: port(n),
    env: redirectorEnv(nats.url, port(n), join(dir, `journal-${n}`)),
    async settle() {
      await warmCache(port(n), links);
      await waitUntilLeading(port(n));
    },
  };
}

/** Publishes the links as another version does, whose redirector may read something else. */
async function publishBeside(cwd: string): Promise<void> {
  const program = `const { generateLinks, publishLinks } = await import("./bench/redirect/links.ts");
    await publishLinks(process.env.NATS_URL, generateLinks(${LINKS}));`;
  const env = { ...process.env, NATS_URL: nats.url };
  const child = Bun.spawn([process.execPath, "-e", program], { cwd, env });
  if ((await child.exited) !== 0) throw new Error("The other version published no links.");
}

function plain(name: string, mode: string): Server {
  return {
    name,
    command: [
      process.execPath,
      "bench/redirect/plain.ts",
      mode,
      linksFile,
      join(dir, `${mode}.log`),
    ],
    port: 0,
  };
}

type Cost = { rate: number; micros: number; hotMicros: number; p50: number; p99: number };

const rows = [];
const costs = new Map<string, Record<"uniform" | "zipf", Cost>>();
const collected: Record<string, Record<"uniform" | "zipf", Cost[]>> = {};
for (let turn = 0; turn < ROUNDS; turn++) {
  // Which comes first in a round is at a disadvantage of some percent.
  for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
    const runs = (collected[server.name] ??= { uniform: [], zipf: [] });
    if (server.settingsOf !== undefined)
      await (server.cwd === undefined
        ? publishLinks(nats.url, links, server.settingsOf)
        : publishBeside(server.cwd));
    await runServer(server, async (pid, at) => {
      for (const distribution of ["uniform", "zipf"] as const)
        runs[distribution].push(await measure(pid, at, distribution));
    });
  }
}
for (const { name } of servers) {
  const summarize = (distribution: "uniform" | "zipf"): Cost => {
    const runs = collected[name]?.[distribution] ?? [];
    const medianOf = (read: (cost: Cost) => number) => round(median(runs.map(read)));
    return {
      rate: Math.round(medianOf((c) => c.rate)),
      micros: medianOf((c) => c.micros),
      hotMicros: medianOf((c) => c.hotMicros),
      p50: medianOf((c) => c.p50),
      p99: medianOf((c) => c.p99),
    };
  };
  costs.set(name, { uniform: summarize("uniform"), zipf: summarize("zipf") });
  for (const distribution of ["uniform", "zipf"] as const) {
    const cost = summarize(distribution);
    rows.push({
      server: name,
      distribution,
      "requests/s": cost.rate,
      "CPU µs/request": cost.micros,
      "CPU µs/request, busiest thread": cost.hotMicros,
      "p50 µs": cost.p50,
      "p99 µs": cost.p99,
    });
  }
}

const findCost = (letter: string): Cost | undefined =>
  [...costs].find(([name]) => name.startsWith(`(${letter})`))?.[1].uniform;
const own = findCost("a");
const findRuns = (letter: string): Cost[] =>
  Object.entries(collected).find(([name]) => name.startsWith(`(${letter})`))?.[1].uniform ?? [];
/** The median of the rounds' ratios to the version of `--beside`; undefined without one. */
function ratioBeside(read: (cost: Cost) => number): number | undefined {
  const beside = findRuns("k");
  const ratios = findRuns("a").flatMap((run, i) => {
    const other = beside[i];
    return other === undefined ? [] : [read(run) / read(other)];
  });
  return ratios.length === 0 ? undefined : median(ratios);
}
const targets = (
  [
    ["whole process : (c)", own?.micros, findCost("c")?.micros, 0.95],
    ["request thread : (c)", own?.hotMicros, findCost("c")?.micros, 0.85],
    ["request thread : (d)", own?.hotMicros, findCost("d")?.micros, 1],
    ["request thread : (b)", own?.hotMicros, findCost("b")?.micros, 0.6],
    ["request thread : (e)", own?.hotMicros, findCost("e")?.micros, 1.25],
    ["(g) 5 rules : (a)", findCost("g")?.micros, own?.micros, 1.5],
    ["(j) limit, leases in hand : (a)", findCost("j")?.micros, own?.micros, 2],
    ["(i) split : (a)", findCost("i")?.micros, own?.micros, 1.5],
    ["whole process : (k), by round", ratioBeside((c) => c.micros), 1, 1.02],
    ["request thread : (k), by round", ratioBeside((c) => c.hotMicros), 1, 1.02],
  ] as const
).flatMap(([name, ours, theirs, max]) => {
  if (ours === undefined || theirs === undefined) return [];
  const value = round(ours / theirs);
  return [{ name, value, target: `<= ${max}`, met: value <= max }];
});
publish({ name: "redirect", versions: { bun: Bun.version, nginx: nginxVersion() }, rows, targets });
rmSync(dir, { recursive: true, force: true });

async function runServer(
  { command, env = {}, cwd, port: at, settle }: Server,
  use: (pid: number, port: number) => Promise<void>,
): Promise<void> {
  const child = Bun.spawn(["taskset", "-c", SERVER_CORE, ...command], {
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdout: "pipe",
    stderr: "inherit",
  });
  let listening = at;
  if (at === 0) {
    const { value } = await child.stdout.getReader().read();
    listening = Number(/listening on (\d+)/.exec(new TextDecoder().decode(value))?.[1]);
  }
  while (
    !(await fetch(`http://127.0.0.1:${listening}/${links[0]?.alias}`, { redirect: "manual" }).then(
      () => true,
      () => false,
    ))
  )
    await Bun.sleep(100);
  await settle?.();
  await use(child.pid, listening);
  child.kill("SIGTERM");
  await child.exited;
}

/** Limits are kept from some seconds after a start, when all that was leased before is known. */
async function waitUntilLeading(at: number): Promise<void> {
  const url = `http://127.0.0.1:${at}/${links[0]?.alias}`;
  while ((await fetch(url, { redirect: "manual" })).status !== 302) await Bun.sleep(100);
}

async function measure(pid: number, at: number, distribution: "uniform" | "zipf"): Promise<Cost> {
  await wrk(at, distribution, 2);
  const before = readThreadCpu(pid);
  const { requests, micros, errors, p50, p99 } = await wrk(at, distribution, SECONDS);
  const after = readThreadCpu(pid);
  if (errors > 0) throw new Error(`${errors} requests failed.`);
  const used = [...after].map(([thread, micros]) => micros - (before.get(thread) ?? 0));
  const perRequest = (spent: number) => spent / requests;
  return {
    rate: (requests / micros) * 1e6,
    micros: perRequest(used.reduce((sum, one) => sum + one, 0)),
    hotMicros: perRequest(Math.max(...used)),
    p50,
    p99,
  };
}

async function wrk(at: number, distribution: string, seconds: number) {
  const child = Bun.spawn(
    [
      "taskset",
      "-c",
      LOAD_CORE,
      "wrk",
      "-t1",
      `-c${CONNECTIONS}`,
      `-d${seconds}s`,
      "-s",
      "bench/redirect/wrk.lua",
      `http://127.0.0.1:${at}`,
      "--",
      String(LINKS),
      distribution,
    ],
    { stdout: "pipe" },
  );
  const text = await new Response(child.stdout).text();
  const result = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(text)?.slice(1).map(Number);
  const [requests = 0, micros = 1, errors = 0, p50 = 0, p99 = 0] = result ?? [];
  if (requests === 0) throw new Error(`wrk: ${text}`);
  return { requests, micros, errors, p50, p99 };
}

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
import { atMost, median, publish } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, warmCache } from "./redirect/links.ts";
import { hasNginx, nginxCommand, nginxVersion } from "./redirect/nginx.ts";
import {
  type Cost,
  costRow,
  measureCost,
  medianCost,
  redirectorOf,
  requireWrk,
  type Server,
  withServer,
  wrk,
} from "./redirect/server.ts";
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

requireWrk();
await using nats = await startNats();
await using _ = (await BenchLog.open(nats.url)).keepAlive();

const DISTRIBUTIONS = ["uniform", "zipf"] as const;

type Measured = Server & {
  name: string;
  port: number;
  /** The redirect settings of a link; undefined for a server that reads no links log. */
  settingsOf?: () => RedirectSettings | undefined;
  settle?: () => Promise<void>;
};

const port = (n: number) => 18_400 + n;
const at = (n: number) => ({
  port: port(n),
  url: `http://127.0.0.1:${port(n)}/${links[0]?.alias}`,
});
const servers: Measured[] = [
  redirector("(a) redirector, clicks in its journal", 0, () => undefined),
  redirector("(f) redirector, links with 1 rule", 5, () => rulesOf(1)),
  redirector("(g) redirector, links with 5 rules", 6, () => rulesOf(5)),
  redirector("(h) redirector, links with 20 rules", 7, () => rulesOf(20)),
  redirector("(i) redirector, links with a split", 8, () => SPLIT),
  redirector("(j) redirector, links with a limit", 9, limitOf),
  ...(options.beside === undefined
    ? []
    : [redirector("(k) redirector of --beside", 10, () => undefined, options.beside)]),
  plain("(b) Bun.serve, Map, Response, log", 1, "plain"),
  ...(hasNginx()
    ? [
        {
          name: "(c) nginx, buffered log",
          command: nginxCommand(join(dir, "c"), links, port(2), true),
          ...at(2),
        },
        {
          name: "(d) nginx, no log",
          command: nginxCommand(join(dir, "d"), links, port(3), false),
          ...at(3),
        },
      ]
    : []),
  plain("(e) Bun.serve, one constant route", 4, "constant"),
].filter(({ name }) => `${options.servers}k`.includes(name.charAt(1)));

function redirector(
  name: string,
  n: number,
  settingsOf: () => RedirectSettings | undefined,
  cwd?: string,
): Measured {
  const { url, port: own } = at(n);
  return {
    ...redirectorOf(nats.url, own, join(dir, `journal-${n}`)),
    name,
    cwd,
    port: own,
    settingsOf,
    async settle() {
      await warmCache(own, links);
      // Limits are kept from some seconds after a start, when all that was leased before is known.
      while ((await fetch(url, { redirect: "manual" })).status !== 302) await Bun.sleep(100);
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

function plain(name: string, n: number, mode: string): Measured {
  const log = join(dir, `${mode}.log`);
  const program = [process.execPath, "bench/redirect/plain.ts", mode, linksFile, log];
  return { name, command: [...program, String(port(n))], ...at(n) };
}

const collected = new Map<string, Record<(typeof DISTRIBUTIONS)[number], Cost[]>>();
for (const { name } of servers) collected.set(name, { uniform: [], zipf: [] });
for (let turn = 0; turn < ROUNDS; turn++) {
  // Which comes first in a round is at a disadvantage of some percent.
  for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
    if (server.settingsOf !== undefined)
      await (server.cwd === undefined
        ? publishLinks(nats.url, links, server.settingsOf)
        : publishBeside(server.cwd));
    await withServer(server, async (pid) => {
      await server.settle?.();
      for (const distribution of DISTRIBUTIONS) {
        const load = (seconds: number) => () =>
          wrk("wrk.lua", `http://127.0.0.1:${server.port}`, {
            seconds,
            connections: CONNECTIONS,
            args: [String(LINKS), distribution],
          });
        await load(2)();
        collected.get(server.name)?.[distribution].push(await measureCost(pid, load(SECONDS)));
      }
    });
  }
}
const rows = [...collected].flatMap(([server, costs]) =>
  DISTRIBUTIONS.map((distribution) =>
    costRow({ server, distribution }, medianCost(costs[distribution])),
  ),
);

const findRuns = (letter: string): Cost[] =>
  [...collected].find(([name]) => name.startsWith(`(${letter})`))?.[1].uniform ?? [];
const findCost = (letter: string): Cost | undefined =>
  findRuns(letter).length === 0 ? undefined : medianCost(findRuns(letter));
const busiest = (cost: Cost | undefined): number | undefined => cost?.threads[0];
const own = findCost("a");
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
    ["request thread : (c)", busiest(own), findCost("c")?.micros, 0.85],
    ["request thread : (d)", busiest(own), findCost("d")?.micros, 1],
    ["request thread : (b)", busiest(own), findCost("b")?.micros, 0.6],
    ["request thread : (e)", busiest(own), findCost("e")?.micros, 1.25],
    ["(g) 5 rules : (a)", findCost("g")?.micros, own?.micros, 1.5],
    ["(j) limit, leases in hand : (a)", findCost("j")?.micros, own?.micros, 2],
    ["(i) split : (a)", findCost("i")?.micros, own?.micros, 1.5],
    ["whole process : (k), by round", ratioBeside((c) => c.micros), 1, 1.02],
    ["request thread : (k), by round", ratioBeside((c) => c.threads[0] ?? Number.NaN), 1, 1.02],
  ] as const
).flatMap(([name, ours, theirs, max]) => {
  if (ours === undefined || theirs === undefined) return [];
  return [atMost(name, ours / theirs, max)];
});
publish({ name: "redirect", versions: { nginx: nginxVersion() }, rows, targets });
rmSync(dir, { recursive: true, force: true });

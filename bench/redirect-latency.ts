/**
 * `bun run bench:redirect-latency [SECONDS]`: response times at 20,000 requests per second, against
 * nginx, and while every link changes once or 2,000 links change per second. The server has
 * one core; the load has the other, which it shares with the publisher of the links.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { startNats } from "../test/harness/nats.ts";
import { atMost, publish, round } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, warmCache } from "./redirect/links.ts";
import { hasNginx, nginxCommand, nginxVersion } from "./redirect/nginx.ts";
import { LOAD_CORE, redirectorOf, withServer } from "./redirect/server.ts";

const [SECONDS = 60] = process.argv.slice(2).map(Number);
const RATE = 20_000;
const LINKS = 100_000;
const CHANGING_SECONDS = 20;
/** Changes per second: enough for every link within that time, and a burst of updates. */
const CHANGES = {
  "redirector, all links changed": LINKS / CHANGING_SECONDS,
  "redirector, 2,000 changes/s": 2_000,
};
const PORTS = { redirector: 18_410, nginx: 18_411 };
const LEAST_PRIORITY = 19;

const result = z.object({
  sent: z.number(),
  completed: z.number(),
  p50: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
});

const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
const links = generateLinks(LINKS);
await using nats = await startNats();
const natsUrl = nats.url;
await using _ = (await BenchLog.open(natsUrl)).keepAlive();
await publishLinks(natsUrl, links);
// What runs on other machines in production must not take CPU time from the measured processes.
setPriority(nats.pid(), LEAST_PRIORITY);

const rows: Record<string, string | number>[] = [];
const results = new Map<string, z.output<typeof result>>();

if (hasNginx()) {
  await withServer(
    {
      command: nginxCommand(join(dir, "nginx"), links, PORTS.nginx, true),
      url: `http://127.0.0.1:${PORTS.nginx}/${links[0]?.alias}`,
    },
    () => load("nginx, buffered log", PORTS.nginx, SECONDS),
  );
}
await withServer(redirectorOf(natsUrl, PORTS.redirector, join(dir, "journal")), async () => {
  await warmCache(PORTS.redirector, links);
  await load("redirector", PORTS.redirector, SECONDS);
  for (const [name, perSecond] of Object.entries(CHANGES)) {
    await Promise.all([
      load(name, PORTS.redirector, CHANGING_SECONDS),
      changeLinks(perSecond * CHANGING_SECONDS, perSecond),
    ]);
  }
});

const own = results.get("redirector");
const nginx = results.get("nginx, buffered log");
const targets = [
  ...(own === undefined || nginx === undefined
    ? []
    : [atMost("p99 : nginx's", own.p99 / nginx.p99, 1.5)]),
  ...Object.keys(CHANGES).map((name) =>
    atMost(`slowest response: ${name} (ms)`, results.get(name)?.max ?? Number.NaN, 50),
  ),
];
publish({
  name: "redirect-latency",
  versions: { nginx: nginxVersion() },
  rows,
  targets,
});
rmSync(dir, { recursive: true, force: true });

async function load(name: string, port: number, seconds: number): Promise<void> {
  const args = [port, RATE, seconds, LINKS].map(String);
  const child = Bun.spawn(
    ["taskset", "-c", LOAD_CORE, process.execPath, "bench/redirect/open-loop.ts", ...args],
    { stdout: "pipe", stderr: "inherit" },
  );
  const measured = result.parse(await new Response(child.stdout).json());
  results.set(name, measured);
  rows.push({
    load: name,
    sent: measured.sent,
    completed: measured.completed,
    "p50 ms": round(measured.p50),
    "p99 ms": round(measured.p99),
    "p99.9 ms": round(measured.p999),
    "max ms": round(measured.max),
  });
}

async function changeLinks(count: number, perSecond: number): Promise<void> {
  const args = [LINKS, count, perSecond].map(String);
  const child = Bun.spawn(
    [
      "nice",
      "-n",
      String(LEAST_PRIORITY),
      process.execPath,
      "bench/redirect/change-links.ts",
      ...args,
    ],
    { env: { ...process.env, NATS_URL: natsUrl }, stdout: "inherit", stderr: "inherit" },
  );
  if ((await child.exited) !== 0) throw new Error("The links were not changed.");
}

/** Loads an HTTP server and measures the cost. Loopback only, bounded in time. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

/**
 * Kernel clock ticks per second, the unit of CPU time in /proc; 100 on every Linux that Bun runs
 * on.
 */
const TICKS_PER_SECOND = 100;

const AUTOCANNON = join(import.meta.dir, "../node_modules/autocannon/autocannon.js");

const report = z.object({
  requests: z.object({ total: z.number(), average: z.number() }),
  latency: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  "2xx": z.number(),
  non2xx: z.number(),
  errors: z.number(),
  duration: z.number(),
});

export type Load = {
  url: string;
  headers?: Record<string, string>;
  connections: number;
  seconds: number;
  /** Total requests per second; unlimited if left out. */
  rate?: number;
  /** Sent as JSON by POST. */
  body?: unknown;
  /** Several clients, whose requests take turns. */
  clients?: readonly Client[];
};

/** A client's request. */
export type Client = { path: string; headers: Record<string, string> };

export type Measured = {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU time of the server per request, user and system. */
  cpuMicrosPerRequest: number;
};

/**
 * Runs a load against a server and measures the CPU time of `pids` and of the processes that they
 * have started, as PostgreSQL has one for each connection; throws if any request fails.
 */
export async function measure(pids: number | readonly number[], load: Load): Promise<Measured> {
  const trees = [pids].flat();
  const before = cpuSeconds(trees);
  const text = load.clients === undefined ? await runOne(load) : await runMany(load, load.clients);
  const cpu = cpuSeconds(trees) - before;
  const result = report.parse(JSON.parse(text));
  const failed = result.non2xx + result.errors;
  if (failed > 0 || result["2xx"] === 0)
    throw new Error(`${failed} of ${result.requests.total} requests to ${load.url} failed.`);
  return {
    requestsPerSecond: result["2xx"] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuMicrosPerRequest: (cpu / result["2xx"]) * 1e6,
  };
}

function runOne({ url, headers = {}, connections, seconds, rate, body }: Load): Promise<string> {
  const args = ["-j", "-c", String(connections), "-d", String(seconds)];
  if (rate !== undefined) args.push("-R", String(rate));
  if (body !== undefined) {
    args.push("-m", "POST", "-b", JSON.stringify(body), "-H", "content-type=application/json");
  }
  for (const [name, value] of Object.entries(headers)) args.push("-H", `${name}=${value}`);
  return run([AUTOCANNON, ...args, url]);
}

async function runMany(
  { url, connections, seconds }: Load,
  clients: readonly Client[],
): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-load-"));
  const file = join(dir, "load.json");
  writeFileSync(file, JSON.stringify({ url, connections, duration: seconds, clients }));
  try {
    return await run([join(import.meta.dir, "load-many.mjs"), file]);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const run = (command: readonly string[]): Promise<string> =>
  new Response(Bun.spawn(["node", ...command], { stdout: "pipe", stderr: "ignore" }).stdout).text();

/**
 * User and system time so far of processes and their children (fields 4, 14 and 15 of proc(5)
 * stat).
 */
function cpuSeconds(pids: readonly number[]): number {
  const roots = new Set(pids);
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = readStat(entry);
    if (!roots.has(Number(entry)) && !roots.has(Number(fields[1]))) continue;
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}

/** The fields after the name of a process; none when it has ended. */
function readStat(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return [];
  }
}

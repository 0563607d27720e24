/** Loads an HTTP server and measures the cost. Loopback only, bounded in time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

/** Kernel clock ticks per second, the unit of CPU time in /proc; 100 on every Linux that Bun runs on. */
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
};

export type Measured = {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU time of the server per request, user and system. */
  cpuMicrosPerRequest: number;
};

/** Runs a load against the server with process id `pid`; throws if any request fails. */
export async function measure(
  pid: number,
  { url, headers = {}, connections, seconds, rate }: Load,
): Promise<Measured> {
  const args = ["-j", "-c", String(connections), "-d", String(seconds)];
  if (rate !== undefined) args.push("-R", String(rate));
  for (const [name, value] of Object.entries(headers)) args.push("-H", `${name}=${value}`);
  const before = cpuSeconds(pid);
  const child = Bun.spawn(["node", AUTOCANNON, ...args, url], { stdout: "pipe", stderr: "ignore" });
  const text = await new Response(child.stdout).text();
  const cpu = cpuSeconds(pid) - before;
  const result = report.parse(JSON.parse(text));
  const failed = result.non2xx + result.errors;
  if (failed > 0 || result["2xx"] === 0)
    throw new Error(`${failed} of ${result.requests.total} requests to ${url} failed.`);
  return {
    requestsPerSecond: result["2xx"] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuMicrosPerRequest: (cpu / result["2xx"]) * 1e6,
  };
}

/** User and system time of a process so far (fields 14 and 15 of proc(5) stat). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

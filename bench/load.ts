/** Loads an HTTP server and measures the cost. Loopback only, bounded in time. */
import { join } from "node:path";

import * as z from "zod";

import { readTreeCpu } from "../test/harness/process-usage.ts";

const PROGRAM = join(import.meta.dir, "load.mjs");

const report = z.object({
  requests: z.object({ total: z.number() }),
  latency: z.object({ p50: z.number(), p99: z.number() }),
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
  const readCpuMs = () => [pids].flat().reduce((sum, pid) => sum + readTreeCpu(pid), 0);
  const before = readCpuMs();
  const text = await run(load);
  const cpuMs = readCpuMs() - before;
  const result = report.parse(JSON.parse(text));
  const failed = result.non2xx + result.errors;
  if (failed > 0 || result["2xx"] === 0)
    throw new Error(`${failed} of ${result.requests.total} requests to ${load.url} failed.`);
  return {
    requestsPerSecond: result["2xx"] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuMicrosPerRequest: (cpuMs / result["2xx"]) * 1_000,
  };
}

async function run({ seconds: duration, rate, body, headers, ...load }: Load): Promise<string> {
  const sent =
    body === undefined
      ? { headers }
      : {
          method: "POST",
          body: JSON.stringify(body),
          headers: { ...headers, "content-type": "application/json" },
        };
  const options = { ...load, ...sent, duration, overallRate: rate };
  const child = Bun.spawn(["node", PROGRAM], {
    stdin: new Blob([JSON.stringify(options)]),
    stdout: "pipe",
    stderr: "ignore",
  });
  return await new Response(child.stdout).text();
}

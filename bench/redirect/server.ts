/** Runs a server on one core and its load on the other, and measures what a request costs. */
import { readThreadCpu } from "../../test/harness/process-usage.ts";
import { median, round } from "../../test/harness/report.ts";
import { redirectorEnv } from "./links.ts";

const SERVER_CORE = "0";
export const LOAD_CORE = "1";

export type Server = {
  command: string[];
  env?: Record<string, string>;
  /** The working directory; by default this checkout. */
  cwd?: string | undefined;
  /** Responds as soon as the server is up. */
  url: string;
};

/** Our redirector on a port, with the links of a NATS. */
export const redirectorOf = (
  natsUrl: string,
  port: number,
  journal: string,
  env: Record<string, string> = {},
): Server => ({
  command: [process.execPath, "redirector/main.ts"],
  env: { ...redirectorEnv(natsUrl, port, journal), ...env },
  url: `http://127.0.0.1:${port}/`,
});

/** Starts a server, calls `use`, and stops the server even if `use` fails. */
export async function withServer(
  { command, env = {}, cwd = process.cwd(), url }: Server,
  use: (pid: number) => Promise<void>,
): Promise<void> {
  const child = Bun.spawn(["taskset", "-c", SERVER_CORE, ...command], {
    env: { ...process.env, ...env },
    cwd,
    stdout: "ignore",
    stderr: "inherit",
  });
  const isUp = () =>
    fetch(url, { redirect: "manual", tls: { rejectUnauthorized: false } }).then(
      () => true,
      () => false,
    );
  try {
    while (!(await isUp())) await Bun.sleep(100);
    await use(child.pid);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

type WrkLoad = { seconds: number; connections: number; args?: string[]; core?: string | null };

/**
 * Runs wrk with a script, on the other core unless `core` is null; returns the numbers of its
 * `RESULT` line.
 */
export async function wrk(
  script: string,
  url: string,
  { seconds, connections, args = [], core = LOAD_CORE }: WrkLoad,
): Promise<number[]> {
  const command = core === null ? [] : ["taskset", "-c", core];
  command.push("wrk", "-t1", `-c${connections}`, `-d${seconds}s`);
  command.push("-s", `bench/redirect/${script}`, url, "--", ...args);
  const child = Bun.spawn(command, { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  const numbers = /RESULT ([\d ]+)/.exec(text)?.[1]?.split(" ").map(Number);
  if (numbers === undefined) throw new Error(`wrk: ${text}`);
  return numbers;
}

/** Warns and ends the program unless wrk is installed. */
export function requireWrk(): void {
  if (Bun.which("wrk") === null) throw new Error("wrk is not installed (apt-get install wrk).");
}

/**
 * What a request cost: microseconds of CPU of the process and of its threads, the busiest first;
 * and response times in microseconds.
 */
export type Cost = { rate: number; micros: number; threads: number[]; p50: number; p99: number };

/** Measures a load, which returns the numbers of `wrk`; throws when more requests fail. */
export async function measureCost(
  pid: number,
  load: () => Promise<number[]>,
  failedShareMax = 0,
): Promise<Cost> {
  const before = readThreadCpu(pid);
  const [requests = 0, micros = 1, errors = 0, p50 = 0, p99 = 0] = await load();
  const used = [...readThreadCpu(pid)].map(([thread, spent]) => spent - (before.get(thread) ?? 0));
  if (requests === 0 || errors > requests * failedShareMax)
    throw new Error(`${errors} of ${requests} requests failed.`);
  return {
    rate: (requests / micros) * 1e6,
    micros: used.reduce((sum, one) => sum + one, 0) / requests,
    threads: used.map((spent) => spent / requests).toSorted((a, b) => b - a),
    p50,
    p99,
  };
}

/** The medians of several measurements. */
export function medianCost(costs: readonly Cost[]): Cost {
  const medianOf = (read: (cost: Cost) => number) => round(median(costs.map(read)));
  return {
    rate: Math.round(medianOf((cost) => cost.rate)),
    micros: medianOf((cost) => cost.micros),
    threads: [0, 1].map((i) => medianOf((cost) => cost.threads[i] ?? 0)),
    p50: medianOf((cost) => cost.p50),
    p99: medianOf((cost) => cost.p99),
  };
}

/** A row of medians, after what it is of. */
export const costRow = (
  what: Record<string, string>,
  { rate, micros, threads, p50, p99 }: Cost,
) => ({
  ...what,
  "requests/s": rate,
  "CPU µs/request": micros,
  "busiest thread": threads[0] ?? 0,
  "next thread": threads[1] ?? 0,
  "p50 µs": p50,
  "p99 µs": p99,
});

/** Garbage collection makes memory fluctuate: the medians of the first and of the last third. */
export function firstAndLastThird(memory: readonly number[]): [first: number, last: number] {
  const third = Math.ceil(memory.length / 3);
  return [median(memory.slice(0, third)), median(memory.slice(-third))];
}

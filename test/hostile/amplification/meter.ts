/**
 * Measures the CPU time that work costs each process of a stack: all its threads, with what follows
 * after the response.
 */
import { readTreeCpu } from "../../harness/process-usage.ts";
import { scrape } from "../../harness/prometheus.ts";
import type { SharedStack } from "../../harness/stack.ts";

export const PROCESSES = ["api", "redirector", "worker", "postgres", "clickhouse", "nats"] as const;

export type Process = (typeof PROCESSES)[number];

/** Milliseconds by process. */
export type CpuMs = Readonly<Record<Process, number>>;

export const mapCpu = (map: (process: Process) => number): CpuMs => ({
  api: map("api"),
  redirector: map("redirector"),
  worker: map("worker"),
  postgres: map("postgres"),
  clickhouse: map("clickhouse"),
  nats: map("nats"),
});

/**
 * Times over which the CPU time of the idle stack is measured: the least counts, as its start may
 * still have work left.
 */
const IDLE_WINDOWS = 5;
const IDLE_WINDOW_MS = 3_000;

/**
 * Work has ended when all processes together take less than this beyond what they take idle: two
 * ticks of the clock.
 */
const CHECK_MS = 150;
const ENDED_CPU_MS = 20;

/** Longest wait until it has: a change of 10,000 links is published for seconds. */
const CHECKS_MAX = 200;

const STATISTICS_SECONDS = "shorthop_api_clickhouse_seconds_total";

type Reading = { atMs: number; cpu: CpuMs };

export class StackMeter {
  readonly #stack: SharedStack;
  /** What each process of the idle stack takes, as a share of a core. */
  readonly #idle: CpuMs;

  /** Measures the idle stack first, which nothing else may use. */
  static async start(stack: SharedStack): Promise<StackMeter> {
    const readings = [read(stack)];
    while (readings.length <= IDLE_WINDOWS) {
      await Bun.sleep(IDLE_WINDOW_MS);
      readings.push(read(stack));
    }
    const idle = mapCpu((process) =>
      Math.min(
        ...readings.slice(1).map(({ atMs, cpu }, i) => {
          const from = readings[i];
          return from === undefined ? 0 : (cpu[process] - from.cpu[process]) / (atMs - from.atMs);
        }),
      ),
    );
    return new StackMeter(stack, idle);
  }

  private constructor(stack: SharedStack, idle: CpuMs) {
    this.#stack = stack;
    this.#idle = idle;
  }

  /** The CPU time of `work` and of what follows from it, without that of the idle stack. */
  async measure(work: () => Promise<unknown>): Promise<CpuMs> {
    const from = read(this.#stack);
    await work();
    return this.#between(from, await this.#waitUntilEnded());
  }

  /** The time that calls of accounts were charged so far. */
  async readStatisticsMs(): Promise<number> {
    return (
      1_000 * ((await scrape(this.#stack.info().api_metrics_url)).get(STATISTICS_SECONDS) ?? 0)
    );
  }

  async #waitUntilEnded(): Promise<Reading> {
    let last = read(this.#stack);
    for (let i = 0; i < CHECKS_MAX; i++) {
      await Bun.sleep(CHECK_MS);
      const now = read(this.#stack);
      const used = this.#between(last, now);
      if (PROCESSES.reduce((sum, process) => sum + used[process], 0) <= ENDED_CPU_MS) return now;
      last = now;
    }
    return last;
  }

  /** CPU time between two readings beyond that of the idle stack. */
  #between(from: Reading, to: Reading): CpuMs {
    return mapCpu((process) =>
      Math.max(
        0,
        to.cpu[process] - from.cpu[process] - this.#idle[process] * (to.atMs - from.atMs),
      ),
    );
  }
}

function read(stack: SharedStack): Reading {
  const { pids } = stack.info();
  return {
    atMs: performance.now(),
    cpu: mapCpu((process) => {
      const pid = pids[process];
      if (pid === null) throw new Error(`${process} does not run.`);
      return readTreeCpu(pid);
    }),
  };
}

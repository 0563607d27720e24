/**
 * Measures the CPU time that work costs each process of a stack: all its threads, with what follows
 * after the response.
 */
import { readTreeCpu } from "../../harness/process-usage.ts";
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

export type StackMeter = {
  /** The CPU time of `work` and of what follows from it, without that of the idle stack. */
  measure(work: () => Promise<unknown>): Promise<CpuMs>;
};

/** Measures the idle stack first, which nothing else may use. */
export async function createStackMeter(stack: SharedStack): Promise<StackMeter> {
  function read(): { atMs: number; cpu: CpuMs } {
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

  const readings = [read()];
  while (readings.length <= IDLE_WINDOWS) {
    await Bun.sleep(IDLE_WINDOW_MS);
    readings.push(read());
  }
  /** Share of a core. */
  const idle = mapCpu((process) =>
    Math.min(
      ...readings.slice(1).map(({ atMs, cpu }, i) => {
        const from = readings[i];
        return from === undefined ? 0 : (cpu[process] - from.cpu[process]) / (atMs - from.atMs);
      }),
    ),
  );

  /** CPU time between two readings beyond that of an idle stack. */
  const between = (from: ReturnType<typeof read>, to: ReturnType<typeof read>): CpuMs =>
    mapCpu((process) =>
      Math.max(0, to.cpu[process] - from.cpu[process] - idle[process] * (to.atMs - from.atMs)),
    );

  async function waitUntilEnded(): Promise<ReturnType<typeof read>> {
    let last = read();
    for (let i = 0; i < CHECKS_MAX; i++) {
      await Bun.sleep(CHECK_MS);
      const now = read();
      const used = between(last, now);
      if (PROCESSES.reduce((sum, process) => sum + used[process], 0) <= ENDED_CPU_MS) return now;
      last = now;
    }
    return last;
  }

  return {
    async measure(work) {
      const from = read();
      await work();
      return between(from, await waitUntilEnded());
    },
  };
}

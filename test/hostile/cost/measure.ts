/**
 * Measures what one request costs the processes of an idle stack: CPU time of the threads of their event loops, which is the
 * most that the longest turn can take. A busy machine does not change it: time that a thread waits for a CPU does not count
 * (https://docs.kernel.org/scheduler/sched-stats.html). What a process does beside is in it, so the least of several tries
 * counts.
 */
import { readFileSync } from "node:fs";

import type { SharedStack } from "../../harness/stack.ts";
import { WATCHED_PROCESSES, type WatchedProcess } from "../watch.ts";
import { FLOOR_MS } from "./slope.ts";

/** CPU time in milliseconds of each process's event loop. */
export type Cpu = Record<WatchedProcess, number>;

/** A request that was sent: its size, and the status of its response, 0 without one. */
export type Sent = { bytes: number; status: number };

export type Cost = Sent & { cpu: Cpu };

const TRIES = 3;

/** A thread that takes less CPU within this time is idle: its timers take some tenths of a millisecond. */
const IDLE_CHECK_MS = 5;
const IDLE_CPU_MS = 0.5;

/** Checks until a thread counts as idle though it is not: a worker that stores clicks may go on. */
const IDLE_CHECKS_MAX = 200;

type Times = { cpuMs: number; waitMs: number };

/** Reads how long the thread has had a CPU, and has waited for one. The event loop runs in the first thread. */
function readThread(pid: number): Times {
  const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
  const [cpuNs = 0, waitNs = 0] = text.split(" ").map(Number);
  return { cpuMs: cpuNs / 1e6, waitMs: waitNs / 1e6 };
}

export function createMeter(stack: SharedStack) {
  const info = stack.info();

  const pidOf = (process: WatchedProcess): number => {
    const pid = info.pids[process];
    if (pid === null) throw new Error(`The ${process} does not run.`);
    return pid;
  };

  const readCpu = (): Cpu => ({
    api: readThread(pidOf("api")).cpuMs,
    redirector: readThread(pidOf("redirector")).cpuMs,
    worker: readThread(pidOf("worker")).cpuMs,
  });

  /** Waits until no event loop works, and returns their CPU times. */
  async function waitUntilIdle(): Promise<Cpu> {
    let before = readCpu();
    for (let i = 0; i < IDLE_CHECKS_MAX; i++) {
      await Bun.sleep(IDLE_CHECK_MS);
      const now = readCpu();
      const used = WATCHED_PROCESSES.map((process) => now[process] - before[process]);
      before = now;
      if (Math.max(...used) < IDLE_CPU_MS) break;
    }
    return before;
  }

  async function measureOnce(send: () => Promise<Sent>): Promise<Cost> {
    // Idle since the previous one, but for its timers.
    const before = readCpu();
    const sent = await send();
    const after = await waitUntilIdle();
    const used = (process: WatchedProcess): number => after[process] - before[process];
    return {
      cpu: { api: used("api"), redirector: used("redirector"), worker: used("worker") },
      ...sent,
    };
  }

  // What starts the stack may still work.
  const idle = waitUntilIdle();

  return {
    /** The least cost of up to three tries; stops when it is so small that it is not judged. */
    async measure(send: () => Promise<Sent>): Promise<Cost> {
      await idle;
      let least = await measureOnce(send);
      for (let i = 1; i < TRIES && Math.max(...Object.values(least.cpu)) > FLOOR_MS; i++) {
        const { cpu, ...sent } = await measureOnce(send);
        const lesser = (process: WatchedProcess): number =>
          Math.min(cpu[process], least.cpu[process]);
        least = {
          cpu: { api: lesser("api"), redirector: lesser("redirector"), worker: lesser("worker") },
          ...sent,
        };
      }
      return least;
    },

    /**
     * The longest turn of a process's event loop while it serves the request, in milliseconds: the longest wait of another
     * client that asks all the time, without the time for which the thread waited for a CPU. The least of several tries.
     */
    async measureTurn(process: WatchedProcess, send: () => Promise<Sent>): Promise<number> {
      let least = Infinity;
      for (let i = 0; i < TRIES; i++) {
        await waitUntilIdle();
        least = Math.min(least, await measureWait(process, send));
      }
      return least;
    },
  };

  async function measureWait(process: WatchedProcess, send: () => Promise<Sent>): Promise<number> {
    const url = `${info[`${process}_metrics_url`]}/healthz`;
    let isOver = false;
    const sending = send().finally(() => (isOver = true));
    let longest = 0;
    while (!isOver) {
      const from = performance.now();
      const { waitMs } = readThread(pidOf(process));
      await (await fetch(url)).text();
      const waited = readThread(pidOf(process)).waitMs - waitMs;
      longest = Math.max(longest, performance.now() - from - waited);
    }
    await sending;
    return longest;
  }
}

export type Meter = ReturnType<typeof createMeter>;

/**
 * Measures what one request costs the processes of an idle stack: CPU time of the threads of their
 * event loops, which is the most that the longest turn can take, and of the stores with all their
 * threads. A busy machine does not change it: time that a thread waits for a CPU does not count
 * (https://docs.kernel.org/scheduler/sched-stats.html). What a process does beside is in it, so the
 * least of several tries counts.
 */
import { readdirSync, readFileSync } from "node:fs";

import type { SharedStack, StackInfo } from "../../harness/stack.ts";
import { WATCHED_PROCESSES, type WatchedProcess } from "../watch.ts";

/** CPU time in milliseconds of each process's event loop, and of each store. */
export type Cpu = Record<WatchedProcess | Store, number>;

const mapCpu = (map: (process: WatchedProcess | Store) => number): Cpu => ({
  api: map("api"),
  redirector: map("redirector"),
  worker: map("worker"),
  postgres: map("postgres"),
  clickhouse: map("clickhouse"),
});

/** A request that was sent: its size, and the status of its response, 0 without one. */
export type Sent = { bytes: number; status: number };

export type Cost = Sent & { cpu: Cpu };

const TRIES = 3;

/**
 * A thread that takes less CPU within this time is idle: its timers take some tenths of a
 * millisecond.
 */
const IDLE_CHECK_MS = 5;
const IDLE_CPU_MS = 0.5;

/** Checks until a thread counts as idle though it is not: a worker that stores clicks may go on. */
const IDLE_CHECKS_MAX = 200;

type Times = { cpuMs: number; waitMs: number };

/**
 * Reads how long the thread has had a CPU, and has waited for one. The event loop runs in the first
 * thread.
 */
function readThread(pid: number): Times {
  const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
  const [cpuNs = 0, waitNs = 0] = text.split(" ").map(Number);
  return { cpuMs: cpuNs / 1e6, waitMs: waitNs / 1e6 };
}

const isStore = (process: WatchedProcess | Store): process is Store =>
  STORES.some((store) => store === process);

export class Meter {
  readonly #info: StackInfo;
  /** What starts the stack may still work. */
  readonly #idle: Promise<void>;

  constructor(stack: SharedStack) {
    this.#info = stack.info();
    this.#idle = this.#waitUntilIdle();
  }

  /** The least cost of up to three tries; stops when it is so small that it is not judged. */
  async measure(send: () => Promise<Sent>): Promise<Cost> {
    await this.#idle;
    let least = await this.#measureOnce(send);
    for (let i = 1; i < TRIES && Math.max(...Object.values(least.cpu)) > FLOOR_MS; i++) {
      const { cpu, ...sent } = await this.#measureOnce(send);
      const { cpu: known } = least;
      least = { cpu: mapCpu((process) => Math.min(cpu[process], known[process])), ...sent };
    }
    return least;
  }

  /**
   * The longest turn of a process's event loop while it serves the request, in milliseconds: the
   * longest wait of another client that asks all the time, without the time for which the thread
   * waited for a CPU. The least of several tries.
   */
  async measureTurn(process: WatchedProcess, send: () => Promise<Sent>): Promise<number> {
    let least = Infinity;
    for (let i = 0; i < TRIES; i++) {
      await this.#waitUntilIdle();
      least = Math.min(least, await this.#measureWait(process, send));
    }
    return least;
  }

  async #measureOnce(send: () => Promise<Sent>): Promise<Cost> {
    // Idle since the previous one, but for its timers.
    const before = this.#readCpu();
    const sent = await send();
    await this.#waitUntilIdle();
    const after = this.#readCpu();
    return { cpu: mapCpu((process) => Math.max(0, after[process] - before[process])), ...sent };
  }

  async #measureWait(process: WatchedProcess, send: () => Promise<Sent>): Promise<number> {
    const url = `${this.#info[`${process}_metrics_url`]}/healthz`;
    let isOver = false;
    const sending = send().finally(() => (isOver = true));
    let longest = 0;
    while (!isOver) {
      const from = performance.now();
      const { waitMs } = readThread(this.#pidOf(process));
      await (await fetch(url)).text();
      const waited = readThread(this.#pidOf(process)).waitMs - waitMs;
      longest = Math.max(longest, performance.now() - from - waited);
    }
    await sending;
    return longest;
  }

  /** Waits until no event loop works. */
  async #waitUntilIdle(): Promise<void> {
    let before = this.#readLoops();
    for (let i = 0; i < IDLE_CHECKS_MAX; i++) {
      await Bun.sleep(IDLE_CHECK_MS);
      const now = this.#readLoops();
      const used = now.map((ms, loop) => ms - (before[loop] ?? 0));
      before = now;
      if (Math.max(...used) < IDLE_CPU_MS) break;
    }
  }

  #readLoops(): number[] {
    return WATCHED_PROCESSES.map((process) => readThread(this.#pidOf(process)).cpuMs);
  }

  #readCpu(): Cpu {
    return mapCpu((process) =>
      isStore(process) ? readTreeMs(this.#pidOf(process)) : readThread(this.#pidOf(process)).cpuMs,
    );
  }

  #pidOf(process: WatchedProcess | Store): number {
    const pid = this.#info.pids[process];
    if (pid === null) throw new Error(`The ${process} does not run.`);
    return pid;
  }
}

/** Shares of the bounds at which an input is measured. */
export const SHARES = [0.25, 0.5, 1] as const;

/** The size of an input in bytes, and the CPU time that it cost in milliseconds. */
export type Sample = { bytes: number; cpuMs: number };

/**
 * Costs up to this are not judged by their growth: an idle process does so much beside, and code
 * that has run seldom is compiled.
 */
export const FLOOR_MS = 5;

/**
 * How much more than in proportion to a quarter, and to half, an input may cost: quadratic work
 * costs 4 and 2 times more.
 */
const QUARTER_TOLERANCE = 1.5;
const HALF_TOLERANCE = 1.25;

/** An input that hardly grows with its share tells nothing. */
const GROWTH_MIN = 1.5;

/**
 * Whether the work grows faster than the input, judging by samples at a quarter, half and all of
 * its bounds.
 */
export function isSuperlinear([quarter, half, full]: readonly [Sample, Sample, Sample]): boolean {
  if (full.bytes < GROWTH_MIN * half.bytes || full.cpuMs <= FLOOR_MS) return false;
  // Constant work makes both larger, so that they are upper bounds of linear work.
  const proportional = ({ bytes, cpuMs }: Sample): number => (cpuMs * full.bytes) / bytes;
  return (
    full.cpuMs > QUARTER_TOLERANCE * proportional(quarter) + FLOOR_MS &&
    full.cpuMs > HALF_TOLERANCE * proportional(half)
  );
}

/**
 * The CPU time of the stores: what a call costs PostgreSQL and ClickHouse, in all their processes
 * and threads (Linux).
 */
export const STORES = ["postgres", "clickhouse"] as const;

export type Store = (typeof STORES)[number];

/**
 * How long the threads of a process and of its children have had a CPU, in milliseconds. What has
 * ended meanwhile is left out: connections to PostgreSQL are kept for longer than a call takes.
 */
export function readTreeMs(pid: number): number {
  return sum(
    list(`/proc/${pid}/task`).map((thread) => {
      const task = `/proc/${pid}/task/${thread}`;
      const [cpuNs = 0] = read(`${task}/schedstat`).split(" ").map(Number);
      const children = read(`${task}/children`).split(" ").filter(Boolean);
      return cpuNs / 1e6 + sum(children.map((child) => readTreeMs(Number(child))));
    }),
  );
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** What a thread that has ended had to say: nothing. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

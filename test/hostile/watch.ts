/** Monitors an attacked stack from outside: processes, their memory, their event loops. */
import { residentBytes } from "../harness/process-usage.ts";
import { scrape } from "../harness/prometheus.ts";
import type { Stack } from "../harness/stack.ts";
import type { Surface } from "./routes.ts";

export type WatchedProcess = "api" | "redirector" | "worker";

export type Stall = { process: WatchedProcess; ms: number; at: number };

export type Memory = { process: string; startMiB: number; maxMiB: number; endMiB: number };

/** The process that serves each listener; the local ClickHouse is not part of the product. */
export const PROCESS_OF: Readonly<Record<Surface, WatchedProcess | undefined>> = {
  api: "api",
  dashboard: "api",
  "api internal": "api",
  redirector: "redirector",
  "redirector internal": "redirector",
  "worker internal": "worker",
  clickhouse: undefined,
};

const POLL_MS = 1_000;
const PIDS_POLL_MS = 200;

/** Longer than any stall: a stalled process responds only after it. */
const SCRAPE_TIMEOUT_MS = 30_000;

type Sample = { sum: number; count: number; max: number; cpuWait: number };

/** A process's event loop metrics; undefined if it does not respond. */
async function readLoop(url: string): Promise<Sample | undefined> {
  const metrics = await scrape(url, SCRAPE_TIMEOUT_MS).catch(() => undefined);
  const read = (name: string): number => metrics?.get(`shorthop_event_loop_${name}`) ?? Number.NaN;
  return (
    metrics && {
      sum: read("stall_seconds_sum"),
      count: read("stall_seconds_count"),
      max: read("stall_max_seconds"),
      cpuWait: read("cpu_wait_seconds_total"),
    }
  );
}

/**
 * The longest stall between two samples in milliseconds: exact for a single stall; otherwise an
 * upper bound if it is the longest of the last minute.
 */
function longestStallBetween(before: Sample, after: Sample): number {
  const stalls = after.count - before.count;
  const seconds = after.sum - before.sum;
  if (stalls <= 0) return 0;
  // No stall was longer than the known maximum; returns their mean.
  if (after.max === before.max) return (seconds / stalls) * 1_000;
  return (stalls === 1 ? seconds : Math.min(seconds, after.max)) * 1_000;
}

const findMetricsUrl = (stack: Stack, name: WatchedProcess): string =>
  stack.info()[`${name}_metrics_url`];

export const WATCHED_PROCESSES: readonly WatchedProcess[] = ["api", "redirector", "worker"];

type Watchers = {
  /** Called when a process no longer exists. */
  onEnd: (process: string) => void;
  /** Called shortly after a stall. */
  onStall: (stall: Stall) => void;
};

export class StackWatch {
  readonly stalls: Stall[] = [];
  readonly cpuWaitSeconds = new Map<WatchedProcess, number>();
  readonly #stack: Stack;
  readonly #watchers: Watchers;
  readonly #memory = new Map<string, Memory>();
  readonly #last = new Map<WatchedProcess, Sample>();
  readonly #gone = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  readonly #loops: readonly Promise<void>[];
  #pids: Readonly<Record<string, number | null>>;
  #isStopped = false;

  constructor(stack: Stack, watchers: Watchers) {
    this.#stack = stack;
    this.#watchers = watchers;
    this.#pids = stack.info().pids;
    this.#timer = setInterval(() => this.#checkProcesses(), PIDS_POLL_MS);
    this.#loops = WATCHED_PROCESSES.map((name) => this.#watchEventLoop(name));
  }

  memory(): Memory[] {
    return [...this.#memory.values()];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#checkProcesses();
    await Promise.all(this.#loops);
    await Promise.all(WATCHED_PROCESSES.map((name) => this.#checkEventLoop(name)));
  }

  #checkProcesses(): void {
    for (const [name, pid] of Object.entries(this.#pids)) {
      if (pid === null || this.#gone.has(pid)) continue;
      const now = Math.round(residentBytes(pid) / 2 ** 20);
      // It has ended; a zombie has no memory.
      if (Number.isNaN(now)) {
        this.#gone.add(pid);
        this.#watchers.onEnd(name);
        continue;
      }
      const { startMiB = now, maxMiB = 0 } = this.#memory.get(name) ?? {};
      this.#memory.set(name, {
        process: name,
        startMiB,
        maxMiB: Math.max(maxMiB, now),
        endMiB: now,
      });
    }
    this.#pids = readPids(this.#stack) ?? this.#pids;
  }

  async #watchEventLoop(name: WatchedProcess): Promise<void> {
    while (!this.#isStopped) {
      await this.#checkEventLoop(name).catch(() => undefined);
      await Bun.sleep(POLL_MS);
    }
  }

  async #checkEventLoop(name: WatchedProcess): Promise<void> {
    const sample = await readLoop(findMetricsUrl(this.#stack, name));
    const before = this.#last.get(name);
    if (sample === undefined) return;
    this.#last.set(name, sample);
    // The counters of a restarted process start at zero.
    if (before === undefined || sample.count < before.count) return;
    const ms = longestStallBetween(before, sample);
    if (ms > 0) {
      const stall = { process: name, ms, at: performance.now() };
      this.stalls.push(stall);
      this.#watchers.onStall(stall);
    }
    const waited = Math.max(0, sample.cpuWait - before.cpuWait);
    this.cpuWaitSeconds.set(name, (this.cpuWaitSeconds.get(name) ?? 0) + waited);
  }
}

/** Returns undefined once the supervisor has ended. */
function readPids(stack: Stack): Record<string, number | null> | undefined {
  try {
    return stack.info().pids;
  } catch {
    return undefined;
  }
}

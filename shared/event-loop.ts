/**
 * Measures how long the event loop of this thread was stalled: one task ran, and all others waited.
 * A timer that fires late shows a stall. Two causes of a late timer are not the code's fault and
 * are counted separately: the thread waited in the kernel's run queue while other programs had the
 * CPU; or it did not run at all, blocked in a system call or on a virtual machine that was not
 * scheduled.
 */
import { closeSync, openSync, readSync } from "node:fs";

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/**
 * Interval of the timer, and the most by which a measured stall is too short. While the thread is
 * idle the timer fires less often: at 100 times a second it would be most of an idle process's
 * work.
 */
const BUSY_INTERVAL_MS = 10;
const IDLE_INTERVAL_MS = 50;

/** The share of a CPU from which a thread is busy; the timer itself takes a hundredth. */
const BUSY_SHARE = 0.1;

/** Shorter delays come from normal work and the timer's inaccuracy, and do not count as stalls. */
const STALL_MS_MIN = 20;

/**
 * The maximum covers the last minute, the longest usual scrape interval, so that a scrape misses no
 * stall.
 */
const WINDOW_MS = 60_000;
const WINDOW_SLOTS = 12;
const SLOT_MS = WINDOW_MS / WINDOW_SLOTS;

/** More than a line of schedstat takes: three numbers of at most 20 digits. */
const SCHEDSTAT_BYTES_MAX = 64;

/**
 * One tick of the timer, in milliseconds: how late it was, and for how long since the last tick the
 * thread waited for a CPU and had one.
 */
export type Tick = { lateMs: number; cpuWaitMs: number; cpuMs: number };

/**
 * For how long the event loop was stalled by its own work, and for how long it neither worked nor
 * waited for a CPU.
 */
export function splitDelay({ lateMs, cpuWaitMs, cpuMs }: Tick): {
  stallMs: number;
  blockedMs: number;
} {
  const delayMs = Math.max(0, lateMs - cpuWaitMs);
  const stallMs = Math.min(delayMs, cpuMs);
  return { stallMs, blockedMs: delayMs - stallMs };
}

/**
 * Calls `onTick` at an interval that depends on how busy the thread is, or as soon afterwards as
 * the event loop can.
 */
export class EventLoopSampler {
  readonly #onTick: (tick: Tick) => void;
  readonly #schedstat = new Schedstat();
  #intervalMs = BUSY_INTERVAL_MS;
  #lastMs = performance.now();
  #last = this.#schedstat.read();
  #timer: NodeJS.Timeout;

  constructor(onTick: (tick: Tick) => void) {
    this.#onTick = onTick;
    this.#timer = this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#schedstat.close();
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => this.#sample(), this.#intervalMs).unref();
  }

  #sample(): void {
    const nowMs = performance.now();
    const now = this.#schedstat.read();
    const cpuMs = this.#schedstat.isKnown ? now.cpuMs - this.#last.cpuMs : Infinity;
    this.#onTick({
      lateMs: Math.max(0, nowMs - this.#lastMs - this.#intervalMs),
      cpuWaitMs: now.waitMs - this.#last.waitMs,
      cpuMs,
    });
    const isBusy = cpuMs >= BUSY_SHARE * (nowMs - this.#lastMs);
    this.#intervalMs = isBusy ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS;
    this.#lastMs = nowMs;
    this.#last = now;
    this.#timer = this.#schedule();
  }
}

const slotOf = (nowMs: number): number => Math.floor(nowMs / SLOT_MS);

/** Registers the metrics of this thread's event loop, and updates them until it is stopped. */
export class EventLoopWatch {
  readonly #backlog = new Backlog();
  readonly #longest = new SlidingMax(WINDOW_SLOTS);
  readonly #sampler: EventLoopSampler;

  constructor(registry: Registry) {
    const registers = [registry];
    const stalls = new Histogram({
      name: "shorthop_event_loop_stall_seconds",
      help: "Stalls of the event loop of 20 ms and longer, by its own work",
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    const cpuWaits = new Counter({
      name: "shorthop_event_loop_cpu_wait_seconds_total",
      help: "Time that the event loop was ready to run and waited for a CPU; 0 where the system does not report it",
      registers,
    });
    const longest = this.#longest;
    const max = new Gauge({
      name: "shorthop_event_loop_stall_max_seconds",
      help: "The longest stall of the event loop within the last minute, by its own work",
      registers,
      collect() {
        max.set(longest.read(slotOf(performance.now())));
      },
    });
    const blocked = new Counter({
      name: "shorthop_event_loop_blocked_seconds_total",
      help: "Time for which the event loop was late and neither worked nor waited for a CPU: blocked in a system call, or a virtual machine that was not scheduled",
      registers,
    });
    this.#sampler = new EventLoopSampler((tick) => {
      const { stallMs, blockedMs } = splitDelay(tick);
      this.#backlog.add(stallMs, performance.now());
      cpuWaits.inc(tick.cpuWaitMs / 1_000);
      blocked.inc(blockedMs / 1_000);
      if (stallMs < STALL_MS_MIN) return;
      stalls.observe(stallMs / 1_000);
      longest.add(slotOf(performance.now()), stallMs / 1_000);
    });
  }

  /** Whether the event loop is behind with its own work: see {@link Backlog}. */
  isBehind(): boolean {
    return this.#backlog.isBehind;
  }

  stop(): void {
    this.#sampler.stop();
  }
}

/** Keeps the maximum of the last `slots` slots, which are numbered by time; 0 without a value. */
export class SlidingMax {
  readonly #entries: { slot: number; value: number }[];

  constructor(slots: number) {
    this.#entries = Array.from({ length: slots }, () => ({ slot: -1, value: 0 }));
  }

  add(slot: number, value: number): void {
    const entry = this.#entries[slot % this.#entries.length];
    if (entry === undefined) return;
    entry.value = entry.slot === slot ? Math.max(entry.value, value) : value;
    entry.slot = slot;
  }

  read(slot: number): number {
    const recent = this.#entries.filter((one) => one.slot > slot - this.#entries.length);
    return Math.max(0, ...recent.map((one) => one.value));
  }
}

type CpuTimes = { cpuMs: number; waitMs: number };

const NO_TIMES: CpuTimes = { cpuMs: 0, waitMs: 0 };

/**
 * Reads for how long this thread has had a CPU and has waited for one since it started: the first
 * two numbers of schedstat (https://docs.kernel.org/scheduler/sched-stats.html). Unknown on systems
 * without it.
 */
class Schedstat {
  readonly #file = openSchedstat();
  readonly #buffer = Buffer.alloc(SCHEDSTAT_BYTES_MAX);

  get isKnown(): boolean {
    return this.#file !== undefined;
  }

  read(): CpuTimes {
    if (this.#file === undefined) return NO_TIMES;
    const length = readSync(this.#file, this.#buffer, 0, SCHEDSTAT_BYTES_MAX, 0);
    const text = this.#buffer.toString("latin1", 0, length);
    const [cpuNs = 0, waitNs = 0] = text.split(" ").map(Number);
    return { cpuMs: cpuNs / 1e6, waitMs: waitNs / 1e6 };
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

/** The file stays that of the thread that opened it. */
function openSchedstat(): number | undefined {
  try {
    return openSync("/proc/thread-self/schedstat", "r");
  } catch {
    return undefined;
  }
}

/** A turn that takes this long delays others: the longest acceptable stall. */
const LATE_MS = 50;

/** An event loop is behind if every turn of this time has taken so long. */
const STANDING_MS = 500;

/**
 * Decides whether an event loop is behind: each turn has taken long for a while, so that whatever
 * arrives waits. One long turn, e.g. a collection of garbage, does not count: as in CoDel (RFC 8289
 * §3.1), a queue is bad when its least delay of some time is too long, not its longest.
 */
export class Backlog {
  /**
   * When the first of the turns ended that have all been late; undefined after one that was not.
   */
  #since: number | undefined;
  #isBehind = false;

  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Adds how long the event loop was stalled before its timer ran, at `nowMs`. */
  add(stallMs: number, nowMs: number): void {
    this.#since = stallMs < LATE_MS ? undefined : (this.#since ?? nowMs);
    this.#isBehind = this.#since !== undefined && nowMs - this.#since >= STANDING_MS;
  }
}

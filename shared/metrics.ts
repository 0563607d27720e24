/**
 * Metrics of a process for Prometheus. Code counts in plain variables, which are read when
 * Prometheus scrapes. Names follow Prometheus' conventions: counters end in `_total`, units are
 * seconds and bytes, variants are labels, and an unknown value has no sample.
 */
import { readdirSync, readFileSync } from "node:fs";

import { Counter, Gauge, Histogram, Registry } from "prom-client";

import { withTimeout } from "./timeout.ts";
import { version } from "./version.ts";

/**
 * A value that takes longer to read has no sample: a scrape must not wait for a store that is down.
 */
const READ_TIMEOUT_MS = 2_000;

/**
 * A registry with the metrics of the process itself and `shorthop_build_info`, and what registers
 * others in it. Names are given without their prefix `shorthop_<process>_`.
 */
export class ProcessMetrics {
  readonly registry = new Registry();
  readonly #process: string;

  constructor(process: "api" | "redirector" | "worker") {
    this.#process = process;
    collectProcessMetrics(this.registry);
    const build = { version, bun: Bun.version };
    new Gauge({
      name: "shorthop_build_info",
      help: "Always 1; the labels are the versions of Shorthop and of Bun",
      labelNames: Object.keys(build),
      registers: [this.registry],
    }).set(build, 1);
  }

  readonly counter = (name: string, help: string, read: () => number): void => {
    const metric = new Counter({
      ...this.#named(name, help),
      collect() {
        this.reset();
        this.inc(read());
      },
    });
    this.registry.registerMetric(metric);
  };

  /** Registers a counter with one label, which `read` returns the counts by. */
  readonly counterBy = (label: string, name: string, help: string, read: ReadBy): void => {
    const metric = new Counter({
      ...this.#named(name, help),
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    });
    this.registry.registerMetric(metric);
  };

  /**
   * Registers a gauge; it has no sample when `read` returns undefined, fails, or takes too long.
   */
  readonly gauge = (
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
  ): void => {
    const metric = new Gauge({
      ...this.#named(name, help),
      async collect() {
        const value = await readOrUndefined(read);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
    this.registry.registerMetric(metric);
  };

  /** Registers a gauge that is always 1, whose labels carry the information. */
  readonly info = (name: string, help: string, labels: Record<string, string>): void => {
    const metric = new Gauge({ ...this.#named(name, help), labelNames: Object.keys(labels) });
    metric.set(labels, 1);
    this.registry.registerMetric(metric);
  };

  /** Registers a histogram; buckets are in seconds. */
  histogram<Label extends string>(
    name: string,
    help: string,
    { buckets, labelNames }: { buckets: number[]; labelNames: Label[] },
  ): Histogram<Label> {
    const metric = new Histogram({ ...this.#named(name, help), buckets, labelNames });
    this.registry.registerMetric(metric);
    return metric;
  }

  /** The options of a metric, which its caller registers. */
  #named(name: string, help: string): { name: string; help: string; registers: Registry[] } {
    return { name: `shorthop_${this.#process}_${name}`, help, registers: [] };
  }
}

/** Returns values by that of a label. */
type ReadBy = () => Readonly<Record<string, number>>;

/**
 * Reads a value for a scrape; undefined when that fails or takes longer than {@link
 * READ_TIMEOUT_MS}.
 */
export const readOrUndefined = <Value>(
  read: () => Value | Promise<Value>,
): Promise<Value | undefined> =>
  withTimeout(Promise.resolve().then(read), READ_TIMEOUT_MS).catch(() => undefined);

/**
 * Registers the metrics of the process itself, by the names that Prometheus client libraries share
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics). prom-client's own
 * collection also reads the heap's spaces, for which Bun walks the whole heap: each scrape would
 * stall the process for 0.2 s and more.
 */
export function collectProcessMetrics(registry: Registry): void {
  const registers = [registry];
  const cpu = new Counter({
    name: "process_cpu_seconds_total",
    help: "CPU time of user and system",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
    },
  });
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      name: `process_${name}`,
      help,
      registers,
      collect() {
        const value = read();
        if (value !== undefined) this.set(value);
      },
    });
  const startedAt = Date.now() / 1_000 - process.uptime();
  gauge("start_time_seconds", "When the process started, in Unix seconds", () => startedAt);
  gauge("resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  gauge("open_fds", "Open file descriptors", countOpenFiles);
  gauge("max_fds", "The most file descriptors that may be open", () => readOpenFilesMax());
}

/** Undefined on systems without procfs. */
function countOpenFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

/**
 * The most files that may be open (proc_pid_limits(5)): the hard limit, to which Bun raises the
 * soft one at the start. Undefined on systems without procfs, and without a limit.
 */
export function readOpenFilesMax(read = readLimits): number | undefined {
  try {
    const limit = /^Max open files +\w+ +(\d+)/m.exec(read())?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

const readLimits = (): string => readFileSync("/proc/self/limits", "latin1");

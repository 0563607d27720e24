/**
 * Metrics of a process for Prometheus. Code counts in plain variables, which are read when
 * Prometheus scrapes. Names follow Prometheus' conventions: counters end in `_total`, units are
 * seconds and bytes, variants are labels, and an unknown value has no sample.
 */
import { readdirSync, readFileSync } from "node:fs";

import { Counter, Gauge, Histogram, Registry } from "prom-client";

import { version } from "./version.ts";

/**
 * A value that takes longer to read has no sample: a scrape must not wait for a store that is down.
 */
const READ_TIMEOUT_MS = 2_000;

export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

/**
 * Creates a registry with the metrics of the process itself and `shorthop_build_info`, and
 * functions that register metrics in it. Names are given without their prefix
 * `shorthop_<process>_`.
 */
export function createProcessMetrics(process: "api" | "redirector" | "worker") {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const build = { version, bun: Bun.version };
  new Gauge({
    name: "shorthop_build_info",
    help: "Always 1; the labels are the versions of Shorthop and of Bun",
    labelNames: Object.keys(build),
    registers: [registry],
  }).set(build, 1);
  const options = (name: string, help: string) => ({
    name: `shorthop_${process}_${name}`,
    help,
    registers: [],
  });
  return {
    registry,
    ...counterFunctions(registry, options),
    ...gaugeFunctions(registry, options),
    /** Registers a histogram; buckets are in seconds. */
    histogram<Label extends string>(
      name: string,
      help: string,
      { buckets, labelNames }: { buckets: number[]; labelNames: Label[] },
    ): Histogram<Label> {
      const histogram = new Histogram({ ...options(name, help), buckets, labelNames });
      registry.registerMetric(histogram);
      return histogram;
    },
  };
}

/** The options of a metric: its name with its prefix. It is registered by the caller. */
type OptionsOf = (
  name: string,
  help: string,
) => { name: string; help: string; registers: Registry[] };

const counterFunctions = (registry: Registry, options: OptionsOf) => ({
  /** Registers a counter. */
  counter(name: string, help: string, read: () => number): void {
    const counter = new Counter({
      ...options(name, help),
      collect() {
        this.reset();
        this.inc(read());
      },
    });
    registry.registerMetric(counter);
  },
  /** Registers a counter with one label, which `read` returns the counts by. */
  counterBy(
    label: string,
    name: string,
    help: string,
    read: () => Readonly<Record<string, number>>,
  ): void {
    const counter = new Counter({
      ...options(name, help),
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
      },
    });
    registry.registerMetric(counter);
  },
});

const gaugeFunctions = (registry: Registry, options: OptionsOf) => ({
  /**
   * Registers a gauge; it has no sample when `read` returns undefined, fails, or takes too long.
   */
  gauge(
    name: string,
    help: string,
    read: () => number | undefined | Promise<number | undefined>,
  ): void {
    const gauge = new Gauge({
      ...options(name, help),
      async collect() {
        const value = await readOrUndefined(read);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
    registry.registerMetric(gauge);
  },
  /** Registers a gauge with one label, which `read` returns the values by. */
  gaugeBy(
    label: string,
    name: string,
    help: string,
    read: () => Readonly<Record<string, number>>,
  ): void {
    const gauge = new Gauge({
      ...options(name, help),
      labelNames: [label],
      collect() {
        this.reset();
        for (const [value, number] of Object.entries(read())) this.set({ [label]: value }, number);
      },
    });
    registry.registerMetric(gauge);
  },
  /** Registers a gauge that is always 1, whose labels carry the information. */
  info(name: string, help: string, labels: Record<string, string>): void {
    const gauge = new Gauge({ ...options(name, help), labelNames: Object.keys(labels) });
    gauge.set(labels, 1);
    registry.registerMetric(gauge);
  },
});

/**
 * Reads a value for a scrape; undefined when that fails or takes longer than {@link
 * READ_TIMEOUT_MS}.
 */
export async function readOrUndefined<Value>(
  read: () => Value | Promise<Value>,
): Promise<Value | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), READ_TIMEOUT_MS);
  try {
    return await Promise.race([read(), timeout.promise]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Registers the metrics; they are read on each scrape. */
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
  gauge("max_fds", "The most file descriptors that may be open", readOpenFilesMax);
}

/** Undefined on systems without procfs. */
function countOpenFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

/** Undefined on systems without procfs, and without a limit. */
function readOpenFilesMax(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/**
 * The metrics of a process itself, by the names that Prometheus client libraries share
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics). prom-client's own
 * collection also reads the heap's spaces, for which Bun walks the whole heap: each scrape would
 * stall the process for 0.2 s and more.
 */
import { readdirSync, readFileSync } from "node:fs";

import { Counter, Gauge, type Registry } from "prom-client";

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

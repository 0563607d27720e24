/** The worker's figures for Prometheus. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** Registers the figures; those that are read where they stand come from `read`. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const outcome = { labelNames: ["outcome"] as const, registers };
  const pages = new Counter({
    name: "shorthop_worker_pages_total",
    help: "Pages by outcome",
    ...outcome,
  });
  const clicks = new Counter({
    name: "shorthop_worker_clicks_total",
    help: "Clicks by outcome",
    ...outcome,
  });
  const insertSeconds = new Histogram({
    name: "shorthop_worker_insert_seconds",
    help: "Time of one insert into ClickHouse",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  return {
    registry,
    insertSeconds,
    count(name: "stored" | "dead" | "torn", pageCount: number, clickCount: number) {
      pages.inc({ outcome: name }, pageCount);
      clicks.inc({ outcome: name }, clickCount);
    },
    gauge: (name: string, help: string, read: () => number) =>
      new Gauge({
        name: `shorthop_worker_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      }),
  };
}

/** Goal: metrics are of their type, and a value that is unknown has no sample. */
import { expect, test } from "bun:test";

import { Registry } from "prom-client";

import { parseMetrics } from "../test/harness/prometheus.ts";
import { collectProcessMetrics, ProcessMetrics } from "./metrics.ts";

const unknown: [string, () => number | undefined | Promise<number | undefined>][] = [
  ["undefined", () => undefined],
  ["a failed read", () => Promise.reject(new Error("PostgreSQL is down."))],
  [
    "a read that throws",
    () => {
      throw new Error("PostgreSQL is down.");
    },
  ],
  ["a read that takes too long", () => new Promise(() => undefined)],
];

const always7 = () => 7;

test.each(unknown)(
  "a gauge has no sample for %s, and has one again afterwards",
  async (_, read) => {
    const { registry, gauge } = new ProcessMetrics("api");
    let current: typeof read = always7;
    gauge("things_pending", "Things that wait", () => current());
    const samples = async () =>
      Object.fromEntries(
        parseMetrics(await registry.metrics()).get("shorthop_api_things_pending")?.samples ?? [],
      );
    expect(await samples()).toEqual({ shorthop_api_things_pending: 7 });
    current = read;
    expect(await samples()).toEqual({});
    current = () => 0;
    expect(await samples()).toEqual({ shorthop_api_things_pending: 0 });
  },
);

test("counters are read when scraped, by label or without", async () => {
  const { registry, counter, counterBy } = new ProcessMetrics("worker");
  const counts = { network: 1, total: 0 };
  counter("things_total", "Things", () => counts.network);
  counterBy("reason", "drops_total", "Drops, by reason", () => counts);
  counts.network = 3;
  const families = parseMetrics(await registry.metrics());
  expect(families.get("shorthop_worker_things_total")?.type).toBe("counter");
  expect(Object.fromEntries(families.get("shorthop_worker_drops_total")?.samples ?? [])).toEqual({
    'shorthop_worker_drops_total{reason="network"}': 3,
    'shorthop_worker_drops_total{reason="total"}': 0,
  });
});

/** What a scrape says, by name. */
async function scrape(registry: Registry): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split("\n").filter((line) => /^\w/.test(line));
  return new Map(lines.map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

test("a process tells its CPU time, memory, files and start", async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const metrics = await scrape(registry);
  expect(metrics.get("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
  expect(metrics.get("process_start_time_seconds")).toBeLessThanOrEqual(Date.now() / 1_000);
  expect(metrics.get("process_open_fds")).toBeGreaterThan(0);
  expect(metrics.get("process_max_fds")).toBeGreaterThan(0);
  const before = metrics.get("process_cpu_seconds_total") ?? 0;
  for (const start = process.cpuUsage(); process.cpuUsage(start).user < 50_000;);
  const after = (await scrape(registry)).get("process_cpu_seconds_total") ?? 0;
  expect(after - before).toBeGreaterThan(0.04);
});

test("a scrape does not walk the heap, however much is in it", async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const heap = Array.from({ length: 300_000 }, (_, i) => ({ i, text: `x${i}` }));
  await registry.metrics();
  const start = process.cpuUsage();
  for (let i = 0; i < 20; i++) await registry.metrics();
  const { user, system } = process.cpuUsage(start);
  // With prom-client's own collection it is 0.2 s for each of the 20.
  expect((user + system) / 1e6).toBeLessThan(1);
  expect(heap).toHaveLength(300_000);
});

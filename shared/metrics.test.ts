/** Goal: metrics are of their type, and a value that is unknown has no sample. */
import { expect, test } from "bun:test";

import { namingProblems, parseMetrics } from "../test/harness/prometheus.ts";
import { createProcessMetrics } from "./metrics.ts";
import { version } from "./version.ts";

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
    const { registry, gauge } = createProcessMetrics("api");
    let current: () => ReturnType<typeof read> = always7;
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
  const { registry, counter, counterBy } = createProcessMetrics("worker");
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

test("each process exports its build, and only well-named default metrics", async () => {
  const families = parseMetrics(await createProcessMetrics("redirector").registry.metrics());
  const build = `shorthop_build_info{version="${version}",bun="${Bun.version}"}`;
  expect(families.get("shorthop_build_info")?.samples.get(build)).toBe(1);
  expect(families.has("process_start_time_seconds")).toBe(true);
  expect([...families.values()].flatMap(namingProblems)).toEqual([]);
});

test.each([
  ["a gauge named like a counter", "x_things_total", "gauge"],
  ["a counter named like a gauge", "x_things", "counter"],
  ["milliseconds", "x_wait_ms", "gauge"],
  ["a unit that is not last", "x_bytes_max", "gauge"],
  ["a histogram without a unit", "x_wait", "histogram"],
  ["a type in the name", "x_gauge_things", "gauge"],
])("the naming check of the tests finds %s", (_, name, type) => {
  expect(namingProblems({ name, type, help: "Help", samples: new Map() })).toHaveLength(1);
});

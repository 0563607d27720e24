/** Goal: the latency histogram says what Prometheus' own would say of the same responses. */
import { expect, test } from "bun:test";

import fc from "fast-check";
import { Registry } from "prom-client";

import { parseMetrics } from "../../test/harness/prometheus.ts";
import { registerLatency } from "../metrics.ts";
import { LatencyHistogram } from "./latency.ts";

test("every response is counted in each bucket whose bound is not below its latency", () => {
  const batches = fc.array(
    fc.tuple(fc.double({ min: 0, max: 5_000, noNaN: true }), fc.integer({ min: 1, max: 1_000 })),
  );
  fc.assert(
    fc.property(batches, (all) => {
      const histogram = new LatencyHistogram();
      for (const [ms, responses] of all) histogram.observe(ms, responses);
      const { buckets, count, sumSeconds } = histogram.read();
      const countUpTo = (seconds: number) =>
        all.reduce((sum, [ms, responses]) => sum + (ms <= seconds * 1_000 ? responses : 0), 0);
      for (const { le, count: counted } of buckets)
        expect(counted).toBe(countUpTo(le === "+Inf" ? Infinity : le));
      expect(count).toBe(countUpTo(Infinity));
      const sum = all.reduce((total, [ms, responses]) => total + (ms * responses) / 1_000, 0);
      expect(sumSeconds).toBeCloseTo(sum, 6);
    }),
  );
});

test("is exported as a histogram", async () => {
  const registry = new Registry();
  const histogram = new LatencyHistogram();
  registerLatency(registry, "latency_seconds", "Help.", histogram);
  histogram.observe(0.2, 3);
  histogram.observe(10_000, 1);
  const family = parseMetrics(await registry.metrics()).get("latency_seconds");
  expect(family?.type).toBe("histogram");
  const found = family?.samples ?? new Map<string, number>();
  expect(found.get('latency_seconds_bucket{le="0.0001"}')).toBe(0);
  expect(found.get('latency_seconds_bucket{le="0.00025"}')).toBe(3);
  expect(found.get('latency_seconds_bucket{le="2.5"}')).toBe(3);
  expect(found.get('latency_seconds_bucket{le="+Inf"}')).toBe(4);
  expect(found.get("latency_seconds_count")).toBe(4);
  expect(found.get("latency_seconds_sum")).toBeCloseTo(10.000_6, 9);
});

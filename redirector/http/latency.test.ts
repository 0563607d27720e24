/** Goal: the latency histogram says what Prometheus' own would say of the same responses. */
import { expect, test } from "bun:test";

import fc from "fast-check";

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

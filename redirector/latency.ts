/**
 * The latency histogram of responses. Responses that are sent together have one latency, so a batch
 * of any size costs one clock read and two additions, and nothing is allocated.
 */

/**
 * Upper bounds of the buckets in seconds: a redirect takes about 10 µs, a lookup 1 ms, a password
 * check 60 ms.
 */
const BOUNDS = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
  2.5,
];
const BOUNDS_MS = Float64Array.from(BOUNDS, (seconds) => seconds * 1_000);

export type LatencyHistogram = {
  /** Counts `responses` that took `ms` milliseconds each. */
  observe(ms: number, responses: number): void;
  /** The counts in Prometheus' form: for each bound, how many took at most that long. */
  read(): { buckets: { le: number | "+Inf"; count: number }[]; count: number; sumSeconds: number };
};

export function createLatencyHistogram(): LatencyHistogram {
  // Counts by bucket, excluding those of lower buckets; the last bucket is beyond all bounds.
  const counts = new Float64Array(BOUNDS.length + 1);
  const sumMs = new Float64Array(1);
  return {
    observe(ms, responses) {
      let bucket = 0;
      while (ms > (BOUNDS_MS[bucket] ?? Infinity)) bucket++;
      counts[bucket] = (counts[bucket] ?? 0) + responses;
      sumMs[0] = (sumMs[0] ?? 0) + ms * responses;
    },
    read() {
      let count = 0;
      const buckets = [...BOUNDS, "+Inf" as const].map((le, bucket) => {
        count += counts[bucket] ?? 0;
        return { le, count };
      });
      return { buckets, count, sumSeconds: (sumMs[0] ?? 0) / 1_000 };
    },
  };
}

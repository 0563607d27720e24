import { expect, test } from "bun:test";

import fc from "fast-check";

import { Backoff } from "./backoff.ts";

test("delays double from the first one up to the longest, and stay there", () => {
  const anyOptions = fc
    .tuple(fc.integer({ min: 1, max: 1_000 }), fc.nat({ max: 100_000 }))
    .map(([firstMs, more]) => ({ firstMs, maxMs: firstMs + more }));
  fc.assert(
    fc.property(anyOptions, fc.integer({ min: 1, max: 30 }), (options, retries) => {
      const backoff = new Backoff(options.firstMs, options.maxMs);
      expect(Array.from({ length: retries }, () => backoff.next())).toEqual(
        Array.from({ length: retries }, (_, retry) =>
          Math.min(options.firstMs * 2 ** retry, options.maxMs),
        ),
      );
    }),
  );
});

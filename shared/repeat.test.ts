/** Goal: work is repeated with its pause, never twice at once, and not after it was stopped. */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { eventually } from "../test/harness/eventually.ts";
import { Backoff, repeat } from "./repeat.ts";

test("work is repeated after its pause, until it is stopped", async () => {
  let times = 0;
  let running = 0;
  const repetition = repeat(async () => {
    expect(++running).toBe(1);
    await Bun.sleep(2);
    running--;
    times++;
    return 1;
  });
  await eventually(async () => expect(times).toBeGreaterThan(3));
  await repetition.stop();
  expect(running).toBe(0);
  const before = times;
  // Long enough for several times more.
  await Bun.sleep(50);
  expect(times).toBe(before);
});

test("work that ends after the stop is the last", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let times = 0;
  const repetition = repeat(async () => {
    times++;
    await promise;
    return 0;
  });
  const stopped = repetition.stop();
  resolve();
  await stopped;
  // Long enough for another time, if there were one.
  await Bun.sleep(20);
  expect(times).toBe(1);
});

test("a round that is wanted early begins at once, or after the one that is running", async () => {
  const HOUR_MS = 3_600_000;
  let times = 0;
  const repetition = repeat(async () => {
    await Bun.sleep(1);
    times++;
    return HOUR_MS;
  }, HOUR_MS);
  repetition.wake();
  repetition.wake();
  await eventually(async () => expect(times).toBe(2));
  await repetition.stop();
  repetition.wake();
  expect(times).toBe(2);
});

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

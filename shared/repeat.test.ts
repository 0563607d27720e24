/** Goal: work is repeated with its pause, never twice at once, and not after it was stopped. */
import { expect, test } from "bun:test";

import { eventually } from "../test/harness/eventually.ts";
import { repeat } from "./repeat.ts";

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
  await eventually(async () => expect(times).toBeGreaterThan(3), 5_000);
  repetition.stop();
  await eventually(async () => expect(running).toBe(0), 5_000);
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
  repetition.stop();
  resolve();
  // Long enough for another time, if there were one.
  await Bun.sleep(20);
  expect(times).toBe(1);
});

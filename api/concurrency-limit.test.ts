import { describe, expect, test } from "bun:test";

import { createConcurrencyLimit } from "./concurrency-limit.ts";

const BUSY = new Error("busy");

/** Jobs that run until the test ends them. */
function createWork() {
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  return {
    async run(): Promise<string> {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      return "done";
    },
    endOne: () => ends.shift()?.(),
    most: () => most,
  };
}

const outcome = (promise: Promise<string>): Promise<string> =>
  promise.catch((error: unknown) => (error === BUSY ? "busy" : "failed"));

describe("a concurrency limit", () => {
  test("never runs more jobs than its bound, and runs all waiting jobs in order", async () => {
    const limit = createConcurrencyLimit({ running: 2, waiting: 10, waitMs: 60_000 }, () => BUSY);
    const order: number[] = [];
    let running = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        limit(async () => {
          order.push(i);
          most = Math.max(most, ++running);
          await Bun.sleep(1);
          running--;
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(most).toBe(2);
  });

  test("rejects a job at once when too many wait, without starting it", async () => {
    const work = createWork();
    const limit = createConcurrencyLimit({ running: 1, waiting: 1, waitMs: 60_000 }, () => BUSY);
    const first = outcome(limit(work.run));
    const second = outcome(limit(work.run));
    expect(await outcome(limit(work.run))).toBe("busy");
    work.endOne();
    expect(await first).toBe("done");
    await Bun.sleep(0);
    work.endOne();
    expect(await second).toBe("done");
    expect(work.most()).toBe(1);
  });

  test("rejects a job that waited too long, and continues with the others", async () => {
    const work = createWork();
    const limit = createConcurrencyLimit({ running: 1, waiting: 5, waitMs: 20 }, () => BUSY);
    const first = outcome(limit(work.run));
    expect(await outcome(limit(work.run))).toBe("busy");
    work.endOne();
    expect(await first).toBe("done");
    const third = outcome(limit(work.run));
    await Bun.sleep(0);
    work.endOne();
    expect(await third).toBe("done");
  });

  test("frees the slot of a failed job", async () => {
    const limit = createConcurrencyLimit({ running: 1, waiting: 5, waitMs: 60_000 }, () => BUSY);
    const failed = limit(() => Promise.reject(new Error("failed")));
    const next = limit(() => Promise.resolve("done"));
    expect(await outcome(failed)).toBe("failed");
    expect(await next).toBe("done");
  });
});

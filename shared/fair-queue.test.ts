/** Goal: accounts take turns, and none keeps another waiting for more than what is running. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { FairQueue, type FairQueueBounds, QueueFull } from "./fair-queue.ts";

const BOUNDS: FairQueueBounds = {
  running: 2,
  runningEach: 2,
  reserved: 1,
  waiting: 8,
  waitingEach: 4,
  urgentWaiting: 3,
};

const newQueue = (change: Partial<FairQueueBounds> = {}) =>
  new FairQueue("a test", { ...BOUNDS, ...change });

const never = () => new Promise<void>(() => undefined);

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof QueueFull ? error.of : String(error)));

/** Work that ends when the test ends it. */
function createWork() {
  const started: string[] = [];
  const finish = new Map<string, () => void>();
  return {
    started,
    work: (name: string) => () => {
      started.push(name);
      return new Promise<void>((resolve) => void finish.set(name, resolve));
    },
    async finish(name: string) {
      finish.get(name)?.();
      // Lets the queue's promise callbacks run.
      for (let i = 0; i < 20; i++) await Promise.resolve();
    },
  };
}

describe("a fair queue", () => {
  test("gives keys turns, however much work one of them has", async () => {
    const { work, started, finish } = createWork();
    const queue = newQueue();
    for (const name of ["a1", "a2", "a3", "b1", "b2"]) void queue.run(name.slice(0, 1), work(name));
    for (const name of ["a1", "a2", "b1", "a3", "b2"]) {
      expect(started.at(-1)).toBe(name);
      await finish(name);
    }
    expect(queue.waiting).toBe(0);
  });

  test("leaves slots to others while a key has as much running as it may", async () => {
    const { work, started, finish } = createWork();
    const queue = newQueue({ running: 4, runningEach: 2, reserved: 0 });
    for (const name of ["a1", "a2", "a3", "a4"]) void queue.run("a", work(name));
    expect(started).toEqual(["a1", "a2"]);
    for (const name of ["b1", "c1"]) void queue.run(name.slice(0, 1), work(name));
    expect(started).toEqual(["a1", "a2", "b1", "c1"]);
    await finish("b1");
    expect(started).toHaveLength(4);
    await finish("a2");
    expect(started.at(-1)).toBe("a3");
  });

  test("reserves a slot for urgent work, which runs before all that waits", async () => {
    const { work, started, finish } = createWork();
    const queue = newQueue();
    for (const name of ["a1", "a2", "a3"]) void queue.run("a", work(name));
    expect(started).toEqual(["a1"]);
    for (const name of ["u1", "u2"]) void queue.runUrgent(work(name));
    expect(started).toEqual(["a1", "u1"]);
    await finish("a1");
    expect(started).toEqual(["a1", "u1", "u2"]);
    await finish("u1");
    expect(started.at(-1)).toBe("a2");
  });

  test("goes on after work that failed, and rejects only its caller", async () => {
    const queue = newQueue();
    const results = await Promise.all(
      [
        queue.run("a", () => Promise.reject(new Error("failed"))),
        queue.run("a", () => {
          throw new Error("thrown");
        }),
        queue.run("a", () => Promise.resolve("done")),
      ].map(outcomeOf),
    );
    expect(results).toEqual(["Error: failed", "Error: thrown", "done"]);
    expect(queue.waiting).toBe(0);
  });

  test("rejects work that waited too long without starting it, and goes on with the rest", async () => {
    const { work, started, finish } = createWork();
    const queue = newQueue({ running: 1, reserved: 0, waitMs: 20 });
    const first = queue.run("a", work("a1"));
    expect(await outcomeOf(queue.run("a", work("a2")))).toBe("all");
    await finish("a1");
    await first;
    void queue.run("a", work("a3"));
    expect(started).toEqual(["a1", "a3"]);
  });

  test("never runs or keeps more than its bounds, and runs all that it accepted", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("urgent", "a", "b", "c"), { maxLength: 40 }),
        async (keys) => {
          const queue = newQueue();
          let running = 0;
          let done = 0;
          const work = async () => {
            running++;
            expect(running).toBeLessThanOrEqual(BOUNDS.running);
            await Promise.resolve();
            running--;
            done++;
          };
          const results = await Promise.allSettled(
            keys.map((key) => {
              const result = key === "urgent" ? queue.runUrgent(work) : queue.run(key, work);
              expect(queue.waiting).toBeLessThanOrEqual(3 + BOUNDS.waiting);
              return result;
            }),
          );
          expect(done).toBe(results.filter(({ status }) => status === "fulfilled").length);
          expect(queue.waiting).toBe(0);
          const firstOfA = keys.indexOf("a");
          if (firstOfA !== -1) expect(results[firstOfA]?.status).toBe("fulfilled");
        },
      ),
    );
  });

  test("rejects a key beyond its share, and other keys only when it is full", async () => {
    const queue = newQueue();
    for (let i = 0; i < 1 + BOUNDS.waitingEach; i++) void queue.run("a", never);
    expect(await outcomeOf(queue.run("a", never))).toBe("key");
    for (let i = 0; i < BOUNDS.waitingEach; i++) void queue.run("b", never);
    expect(await outcomeOf(queue.run("c", never))).toBe("all");
    expect(queue.waiting).toBe(BOUNDS.waiting);
  });
});

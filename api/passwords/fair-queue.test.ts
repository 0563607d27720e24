import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createFairQueue } from "./fair-queue.ts";

const BOUNDS = { slots: 2, urgentWaitingMax: 3, fairWaitingMax: 8, fairWaitingPerKeyMax: 4 };
const full = () => new Error("full");

const never = () => new Promise<void>(() => undefined);

/** Jobs that end when the test ends them. */
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
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
  };
}

describe("a fair queue", () => {
  test("serves keys round-robin, however many jobs one of them has", async () => {
    const { work, started, finish } = createWork();
    const queue = createFairQueue(BOUNDS, full);
    for (const name of ["a1", "a2", "a3", "b1", "b2"]) {
      void queue.fair(name.slice(0, 1), work(name));
    }
    for (const name of ["a1", "a2", "b1", "a3", "b2"]) {
      expect(started.at(-1)).toBe(name);
      await finish(name);
    }
    expect(queue.waiting()).toBe(0);
  });

  test("reserves a slot for urgent jobs, which run before all waiting ones", async () => {
    const { work, started, finish } = createWork();
    const queue = createFairQueue(BOUNDS, full);
    for (const name of ["a1", "a2", "a3"]) void queue.fair("a", work(name));
    expect(started).toEqual(["a1"]);
    for (const name of ["u1", "u2"]) void queue.urgent(work(name));
    expect(started).toEqual(["a1", "u1"]);
    await finish("a1");
    expect(started).toEqual(["a1", "u1", "u2"]);
    await finish("u1");
    expect(started.at(-1)).toBe("a2");
  });

  test("continues after a failed job, and rejects only its caller", async () => {
    const queue = createFairQueue(BOUNDS, full);
    const results = await Promise.allSettled([
      queue.fair("a", () => Promise.reject(new Error("failed"))),
      queue.fair("a", () => {
        throw new Error("thrown");
      }),
      queue.fair("a", () => Promise.resolve("done")),
    ]);
    expect(results).toEqual([
      { status: "rejected", reason: new Error("failed") },
      { status: "rejected", reason: new Error("thrown") },
      { status: "fulfilled", value: "done" },
    ]);
    expect(queue.waiting()).toBe(0);
  });

  test("never runs or queues more than its bounds, and runs every accepted job", async () => {
    const anyJob = fc.record({ key: fc.constantFrom("urgent", "a", "b", "c") });
    await fc.assert(
      fc.asyncProperty(fc.array(anyJob, { maxLength: 40 }), async (jobs) => {
        const queue = createFairQueue(BOUNDS, full);
        let running = 0;
        let done = 0;
        const work = async () => {
          running++;
          expect(running).toBeLessThanOrEqual(BOUNDS.slots);
          await Promise.resolve();
          running--;
          done++;
        };
        const results = await Promise.allSettled(
          jobs.map(({ key }) => {
            const result = key === "urgent" ? queue.urgent(work) : queue.fair(key, work);
            expect(queue.waiting()).toBeLessThanOrEqual(
              BOUNDS.urgentWaitingMax + BOUNDS.fairWaitingMax,
            );
            return result;
          }),
        );
        const accepted = results.filter(({ status }) => status === "fulfilled").length;
        expect(done).toBe(accepted);
        expect(queue.waiting()).toBe(0);
        // The first job of a key is always accepted.
        const firstOfA = jobs.findIndex(({ key }) => key === "a");
        if (firstOfA !== -1) expect(results[firstOfA]?.status).toBe("fulfilled");
      }),
    );
  });

  test("rejects a key beyond its share, and other keys only when the queue is full", async () => {
    const queue = createFairQueue(BOUNDS, full);
    for (let i = 0; i < 1 + BOUNDS.fairWaitingPerKeyMax; i++) void queue.fair("a", never);
    expect(queue.fair("a", never)).rejects.toThrow("full");
    for (let i = 0; i < BOUNDS.fairWaitingPerKeyMax; i++) void queue.fair("b", never);
    expect(queue.fair("c", never)).rejects.toThrow("full");
    expect(queue.waiting()).toBe(BOUNDS.fairWaitingMax);
  });
});

/** Goal: whoever asks gets what a call read after they asked, and few calls are made. */
import { expect, test } from "bun:test";

import * as fc from "fast-check";

import { CoalescedCalls } from "./coalesced-calls.ts";

type Question = { key: string; item: number; size: number; askedAt: number };

/** A call in flight, with its callers; `finish` ends it. */
type Call = {
  key: string;
  questions: readonly Question[];
  beganAt: number;
  finish: (error?: Error) => void;
};

const SIZE_MAX = 5;

/** Calls that end when the test says so; each has a time at which it began. */
class ControlledCalls {
  readonly begun: Call[] = [];
  readonly inFlight: Call[] = [];
  readonly outcomes = new Map<number, Call | Error>();
  readonly questions: Question[] = [];
  #now = 0;
  readonly #calls = new CoalescedCalls<Question, Call>(
    (questions) => this.#begin(questions),
    SIZE_MAX,
    ({ size }) => size,
  );

  ask(key: string, size = 1): void {
    const question = { key, item: this.questions.length, size, askedAt: this.#now++ };
    this.questions.push(question);
    this.#calls.run(question, key).then(
      (call) => this.outcomes.set(question.item, call),
      (error: Error) => this.outcomes.set(question.item, error),
    );
  }

  /** Ends the call that has taken longest. */
  async finish(error?: Error): Promise<void> {
    this.inFlight.shift()?.finish(error);
    await this.turn();
  }

  turn(): Promise<void> {
    return Bun.sleep(0);
  }

  async finishAll(): Promise<void> {
    await this.turn();
    while (this.inFlight.length > 0) await this.finish();
  }

  #begin(questions: readonly Question[]): Promise<Call> {
    const { promise, resolve, reject } = Promise.withResolvers<Call>();
    const finish = (error?: Error) => (error === undefined ? resolve(call) : reject(error));
    const call: Call = { key: questions[0]?.key ?? "", questions, beganAt: this.#now++, finish };
    this.begun.push(call);
    this.inFlight.push(call);
    return promise;
  }
}

const itemsOf = (calls: readonly Call[]) =>
  calls.map(({ questions }) => questions.map(({ item }) => item));

const step = fc.oneof(
  fc.record({
    kind: fc.constant("ask" as const),
    key: fc.constantFrom("a", "b"),
    size: fc.integer({ min: 1, max: 7 }),
  }),
  fc.record({ kind: fc.constant("turn" as const) }),
  fc.record({ kind: fc.constant("finish" as const), fails: fc.boolean() }),
);

test("each question is in one call that began after it, in order, and calls are as few as their size allows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const calls = new ControlledCalls();
      for (const one of steps) {
        if (one.kind === "ask") calls.ask(one.key, one.size);
        else if (one.kind === "turn") await calls.turn();
        else await calls.finish(one.fails ? new Error("away") : undefined);
        const keys = calls.inFlight.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
      }
      await calls.finishAll();
      expect(calls.outcomes.size).toBe(calls.questions.length);
      for (const key of ["a", "b"]) {
        const asked = calls.questions.filter((question) => question.key === key);
        const begun = calls.begun.filter((call) => call.key === key);
        expect(itemsOf(begun).flat()).toEqual(asked.map(({ item }) => item));
        for (const [i, { questions, beganAt }] of begun.entries()) {
          const size = questions.reduce((sum, question) => sum + question.size, 0);
          if (questions.length > 1) expect(size).toBeLessThanOrEqual(SIZE_MAX);
          for (const { askedAt } of questions) expect(askedAt).toBeLessThan(beganAt);
          // What waited as well would have been too much.
          const next = asked[itemsOf(begun.slice(0, i + 1)).flat().length];
          if (next !== undefined && next.askedAt < beganAt)
            expect(size + next.size).toBeGreaterThan(SIZE_MAX);
        }
      }
      for (const { item } of calls.questions) {
        const outcome = calls.outcomes.get(item);
        if (!(outcome instanceof Error))
          expect(itemsOf(outcome ? [outcome] : []).flat()).toContain(item);
      }
    }),
  );
});

test("those who ask in one turn share the first call, those who ask during it the next one", async () => {
  const calls = new ControlledCalls();
  calls.ask("a");
  calls.ask("a");
  await calls.turn();
  for (let i = 0; i < 3; i++) calls.ask("a");
  await calls.turn();
  expect(itemsOf(calls.begun)).toEqual([[0, 1]]);
  await calls.finishAll();
  expect(itemsOf(calls.begun)).toEqual([
    [0, 1],
    [2, 3, 4],
  ]);
});

test("a call that fails fails for those who share it, and the next one is made", async () => {
  const calls = new ControlledCalls();
  calls.ask("a");
  await calls.turn();
  calls.ask("a");
  await calls.finish(new Error("away"));
  expect(calls.outcomes.get(0)).toEqual(new Error("away"));
  await calls.finishAll();
  expect(calls.outcomes.get(1)).toBe(calls.begun[1]);
});

test("a call without items, and one that throws before it waits", async () => {
  let reads = 0;
  const calls = new CoalescedCalls<void, number>(() => {
    if (++reads === 1) throw new Error("at once");
    return Promise.resolve(reads);
  });
  expect(await Promise.allSettled([calls.run(), calls.run()])).toEqual([
    { status: "rejected", reason: new Error("at once") },
    { status: "rejected", reason: new Error("at once") },
  ]);
  expect(await Promise.all([calls.run(), calls.run()])).toEqual([2, 2]);
});

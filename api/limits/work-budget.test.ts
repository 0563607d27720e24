/**
 * Goal: over time no account causes more work than its budget, however it divides it among calls.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { newUuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { createWorkBudget } from "./work-budget.ts";

const BOUNDS = { name: "work", perSecond: 10, most: 100 };

function createBudget() {
  let ms = 0;
  const budget = createWorkBudget({ ...BOUNDS, now: () => ms });
  return { ...budget, pass: (seconds: number) => void (ms += seconds * 1_000) };
}

const newWorker = (plan = "free") => ({ accountId: newUuid(), plan });

/** Seconds after which a call may be repeated; 0 if it is not refused. */
function refusedFor(budget: ReturnType<typeof createBudget>, worker: ReturnType<typeof newWorker>) {
  try {
    budget.require(worker);
    return 0;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 429) throw error;
    return Number(error.headers["retry-after"]);
  }
}

describe("a budget", () => {
  test("may be overdrawn by one call, and is then refilled before the next", () => {
    const budget = createBudget();
    const worker = newWorker();
    expect(refusedFor(budget, worker)).toBe(0);
    budget.spend(worker, 150);
    // 50 too many, and one to begin with.
    expect(refusedFor(budget, worker)).toBe(6);
    budget.pass(5);
    expect(refusedFor(budget, worker)).toBe(1);
    budget.pass(0.1);
    expect(refusedFor(budget, worker)).toBe(0);
  });

  test("is each account's own, and larger on larger plans", () => {
    const budget = createBudget();
    const [free, other, pro] = [newWorker(), newWorker(), newWorker("pro")];
    for (const worker of [free, pro]) budget.spend(worker, 400);
    expect(refusedFor(budget, free)).toBe(31);
    expect(refusedFor(budget, other)).toBe(0);
    expect(refusedFor(budget, pro)).toBe(0);
  });

  test("never grows beyond its most", () => {
    const budget = createBudget();
    const worker = newWorker();
    budget.spend(worker, 1);
    budget.pass(3_600);
    budget.spend(worker, 100);
    expect(refusedFor(budget, worker)).toBe(1);
  });

  test("bounds the work of any sequence of calls", () => {
    const anyCalls = fc.array(
      fc.record({ pause: fc.nat({ max: 20 }), units: fc.nat({ max: 300 }) }),
    );
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const budget = createBudget();
        const worker = newWorker();
        let [seconds, done, last] = [0, 0, 0];
        for (const { pause, units } of calls) {
          seconds += pause;
          budget.pass(pause);
          if (refusedFor(budget, worker) > 0) continue;
          budget.spend(worker, units);
          done += units;
          last = Math.max(last, units);
        }
        expect(done).toBeLessThanOrEqual(BOUNDS.most + BOUNDS.perSecond * seconds + last);
      }),
    );
  });
});

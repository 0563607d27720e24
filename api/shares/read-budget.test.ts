/**
 * Goal: readers who choose ranges cost no more than the named periods do, and keep nobody from
 * those.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createReadBudget } from "./read-budget.ts";

const MINUTE_MS = 60_000;

/** Reads of a share per minute that its named periods cost at most: each is cached for a minute. */
const NAMED_PER_MINUTE = 5;

const SAVED_MAX = 20;

function startBudget() {
  let now = 0;
  const budget = createReadBudget(() => now);
  return { budget, wait: (ms: number) => void (now += ms) };
}

describe("the budget of a share", () => {
  test("pays for twenty ranges at once, then for five a minute, and says when", () => {
    const { budget, wait } = startBudget();
    const costs = Array.from({ length: SAVED_MAX + 1 }, () => budget.tryCharge("a"));
    expect(costs).toEqual([...Array<number>(SAVED_MAX).fill(0), 12]);
    wait(11_999);
    expect(budget.tryCharge("a")).toBe(1);
    wait(1);
    expect(budget.tryCharge("a")).toBe(0);
    expect(budget.tryCharge("b")).toBe(0);
  });

  test("is used up by named periods as well, which are read on credit", () => {
    const { budget } = startBudget();
    for (let i = 0; i < SAVED_MAX + 5; i++) budget.charge("a");
    expect(budget.tryCharge("a")).toBe(72);
  });

  test("never allows more over time than the named periods cost, whatever readers do", () => {
    const moves = fc.array(
      fc.record({ waitMs: fc.nat(MINUTE_MS / 2), named: fc.nat(5), others: fc.nat(30) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(moves, (steps) => {
        const { budget, wait } = startBudget();
        let [elapsed, reads] = [0, 0];
        let recent: number[] = [];
        for (const { waitMs, named, others } of steps) {
          wait(waitMs);
          elapsed += waitMs;
          for (let i = 0; i < others; i++) if (budget.tryCharge("a") === 0) reads++;
          recent = recent.filter((at) => at > elapsed - MINUTE_MS);
          for (let i = 0; i < named && recent.length < NAMED_PER_MINUTE; i++) {
            budget.charge("a");
            recent.push(elapsed);
            reads++;
          }
          const minutes = elapsed / MINUTE_MS;
          const most = SAVED_MAX + NAMED_PER_MINUTE * (minutes + 1);
          expect(reads).toBeLessThanOrEqual(most);
        }
      }),
    );
  });
});

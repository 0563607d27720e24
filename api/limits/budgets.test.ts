/**
 * Goal: over time no account causes more work than its budget, however it divides it among calls,
 * and however many it makes at once.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { boundsOf } from "../../shared/budgets.ts";
import { newUuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { Budgets, type Payer } from "./budgets.ts";

const NAME = "link_passwords";

const { atOnce, perSecond } = boundsOf(NAME, "free");

function createBudgets() {
  let ms = 0;
  const budgets = new Budgets(() => ms);
  return { budgets, pass: (seconds: number) => void (ms += seconds * 1_000) };
}

const newPayer = (plan = "free"): Payer => ({ accountId: newUuid(), plan });

/** The refusal of a call; undefined if it is not refused. */
function refusalOf(budgets: Budgets, payer: Payer, kept?: number): ApiError | undefined {
  try {
    budgets.require(payer, NAME, kept);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 429) throw error;
    return error;
  }
}

const refusedFor = (budgets: Budgets, payer: Payer): number =>
  Number(refusalOf(budgets, payer)?.headers["retry-after"] ?? 0);

describe("a budget", () => {
  test("may be overdrawn by one call, and is then refilled before the next", () => {
    const { budgets, pass } = createBudgets();
    const payer = newPayer();
    expect(refusedFor(budgets, payer)).toBe(0);
    budgets.spend(payer, NAME, atOnce + 2);
    // Those too many, and one to begin with.
    expect(refusedFor(budgets, payer)).toBe(3 / perSecond);
    pass(3 / perSecond - 1);
    expect(refusedFor(budgets, payer)).toBe(1);
    pass(1);
    expect(refusedFor(budgets, payer)).toBe(0);
  });

  test("is each account's own, and larger on larger plans", () => {
    const { budgets } = createBudgets();
    const [free, other, pro] = [newPayer(), newPayer(), newPayer("pro")];
    for (const payer of [free, pro]) budgets.spend(payer, NAME, 2 * atOnce);
    expect([free, other, pro].map((payer) => refusedFor(budgets, payer) > 0)).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("says which it is, how much it is, and when there is some of it again", () => {
    const { budgets } = createBudgets();
    const payer = newPayer();
    budgets.spend(payer, NAME, atOnce);
    const refusal = refusalOf(budgets, payer);
    expect(refusal?.message).toBe(
      "Rate limit exceeded: too many passwords set (link_passwords: 100 passwords at once, and 2,700 an hour). Try again in 2 seconds.",
    );
    expect(refusal?.headers).toMatchObject({
      "retry-after": "2",
      "x-ratelimit-limit": "100",
      "x-ratelimit-remaining": "0",
      "ratelimit-policy": '"link_passwords";q=100;w=134',
    });
  });

  test("keeps a part for those who may use it", () => {
    const { budgets } = createBudgets();
    const payer = newPayer();
    budgets.spend(payer, NAME, atOnce / 2);
    expect(refusalOf(budgets, payer, atOnce / 2)).toBeDefined();
    expect(refusalOf(budgets, payer)).toBeUndefined();
  });

  test("is taken before the work, so that calls at once find it taken, and settled after it", () => {
    const { budgets } = createBudgets();
    const payer = newPayer();
    const settle = budgets.reserve(payer, NAME, atOnce);
    expect(refusedFor(budgets, payer)).toBeGreaterThan(0);
    settle(1);
    expect(refusedFor(budgets, payer)).toBe(0);
    expect(budgets.list(payer).find(({ name }) => name === NAME)?.left).toBe(atOnce - 1);
  });

  test("bounds the work of any sequence of calls, and never grows beyond its most", () => {
    const anyCalls = fc.array(
      fc.record({ pause: fc.nat({ max: 500 }), units: fc.nat({ max: 300 }) }),
    );
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const { budgets, pass } = createBudgets();
        const payer = newPayer();
        let [seconds, done, last] = [0, 0, 0];
        for (const { pause, units } of calls) {
          seconds += pause;
          pass(pause);
          if (refusedFor(budgets, payer) > 0) continue;
          budgets.spend(payer, NAME, units);
          done += units;
          last = Math.max(last, units);
        }
        expect(done).toBeLessThanOrEqual(atOnce + perSecond * seconds + last);
      }),
    );
  });
});

/**
 * Budgets of work, by account and in this process's memory: for calls of which one can cause as
 * much work as thousands of others, so that limits on the number of calls do not bound it. What a
 * call has caused is taken from the budget as it becomes known, and a call begins while something
 * is left; the account then waits until it has been refilled.
 */
import { ApiError } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";
import { inSeconds } from "../http/rate-limit.ts";
import { createCredit, type CreditTerms } from "./credit.ts";

/** Accounts remembered; beyond, the one seen least recently starts with a full budget. */
const ACCOUNTS_MAX = 50_000;

/** How many times a free account's budget other plans have: as many as its calls per minute. */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ["pro", 5],
  ["business", 1_000 / 60],
  ["enterprise", 1_000 / 60],
]);

export type WorkBudgetOptions = {
  /** Completes "Rate limit exceeded: …", e.g. `links changed by tags`. */
  name: string;
  /** Units of work that a free account gets back per second, and that it has at most. */
  perSecond: number;
  most: number;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
};

/** Who causes the work. */
export type Worker = Pick<Principal, "accountId" | "plan">;

export type WorkBudget = {
  /** Milliseconds until the account has a unit of its budget left; 0 if it has. */
  waitMs(worker: Worker): number;
  /** Throws `rate_limited` while the account has nothing left. */
  require(worker: Worker): void;
  /** Takes work that the account has caused, even if less is left. */
  spend(worker: Worker, units: number): void;
};

export function createWorkBudget({ name, perSecond, most, now }: WorkBudgetOptions): WorkBudget {
  const credit = createCredit(ACCOUNTS_MAX, now);

  function termsOf({ plan }: Worker): CreditTerms {
    const factor = FACTORS.get(plan) ?? 1;
    return { most: most * factor, msPerUnit: 1_000 / (perSecond * factor) };
  }

  const waitMs = (worker: Worker): number => credit.waitMs(worker.accountId, termsOf(worker));

  return {
    waitMs,
    require(worker) {
      const wait = waitMs(worker);
      if (wait === 0) return;
      const seconds = Math.ceil(wait / 1_000);
      throw new ApiError(
        "rate_limited",
        `Rate limit exceeded: ${name}. Try again in ${inSeconds(seconds)}.`,
        { retryAfterSeconds: seconds },
      );
    },
    spend: (worker, units) => credit.take(worker.accountId, units, termsOf(worker)),
  };
}

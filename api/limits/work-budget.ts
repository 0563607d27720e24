/**
 * Budgets of work, by account and in this process's memory: for calls of which one can cause as much work as thousands of
 * others, so that limits on the number of calls do not bound it. What a call has caused is taken from the budget as it
 * becomes known, and a call begins while something is left; the account then waits until it has been refilled.
 */
import { LRUCache } from "lru-cache";

import { ApiError } from "../http/errors.ts";
import type { Principal } from "../http/principal.ts";

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
  /** The clock, in milliseconds. */
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

const factorOf = ({ plan }: Worker): number => FACTORS.get(plan) ?? 1;

export function createWorkBudget({
  name,
  perSecond,
  most,
  now = Date.now,
}: WorkBudgetOptions): WorkBudget {
  /** What each account had left at some instant; it is below 0 while it has taken more. */
  const accounts = new LRUCache<string, { left: number; at: number }>({ max: ACCOUNTS_MAX });

  function leftOf(worker: Worker): number {
    const factor = factorOf(worker);
    const known = accounts.get(worker.accountId);
    if (known === undefined) return most * factor;
    const refilled = ((now() - known.at) / 1_000) * perSecond * factor;
    return Math.min(most * factor, known.left + refilled);
  }

  function waitMs(worker: Worker): number {
    const left = leftOf(worker);
    return left >= 1 ? 0 : Math.ceil(((1 - left) / (perSecond * factorOf(worker))) * 1_000);
  }

  return {
    waitMs,
    require(worker) {
      const wait = waitMs(worker);
      if (wait === 0) return;
      const seconds = Math.max(1, Math.ceil(wait / 1_000));
      throw new ApiError(
        "rate_limited",
        `Rate limit exceeded: ${name}. Try again in ${seconds} seconds.`,
        { retryAfterSeconds: seconds },
      );
    },
    spend(worker, units) {
      accounts.set(worker.accountId, { left: leftOf(worker) - units, at: now() });
    },
  };
}

/**
 * What each account has left of its budgets (`shared/budgets.ts`), in this process's memory: what a
 * call has caused is taken as it becomes known, and time refills it. Time is monotonic, so that a
 * clock that is set back refuses nobody.
 */
import { LRUCache } from "lru-cache";

import {
  ACCOUNT_BUDGET_NAMES,
  ACCOUNT_BUDGETS,
  type AccountBudgetName,
  type Bounds,
  boundsOf,
} from "../../shared/budgets.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { inSeconds, rateLimitHeaders } from "../http/rate-limit.ts";

/** Budgets remembered; beyond, the one used least recently is full again. */
const BUDGETS_MAX = 200_000;

/** Who pays for work. */
export type Payer = { accountId: Uuid; plan: string };

/** What is left of a budget at an instant; below 0 while more has been taken. */
type Account = Bounds & { left: number; at: number };

/** The state of a budget, for those who can meet it. */
export type BudgetState = Bounds & {
  name: AccountBudgetName;
  unit: string;
  left: number;
  /** When all of it is back, in Unix milliseconds. */
  fullAt: number;
};

export class Budgets {
  readonly #accounts = new LRUCache<string, Account>({ max: BUDGETS_MAX });
  readonly #now: () => number;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until more than `kept` of the payer's budget is left; 0 if it is. */
  waitMs(payer: Payer, name: AccountBudgetName, kept = 0): number {
    const bounds = boundsOf(name, payer.plan);
    return waitFor(this.#leftOf(payer.accountId, name, bounds), bounds, kept);
  }

  /** Throws `rate_limited` unless more than `kept` of the payer's budget is left. */
  require(payer: Payer, name: AccountBudgetName, kept = 0): void {
    const bounds = boundsOf(name, payer.plan);
    const left = this.#leftOf(payer.accountId, name, bounds);
    const wait = waitFor(left, bounds, kept);
    if (wait > 0) throw exceeded(name, bounds, left, wait);
  }

  /** Takes what the payer has caused, even if less is left; gives back what is negative. */
  spend({ accountId, plan }: Payer, name: AccountBudgetName, units: number): void {
    const bounds = boundsOf(name, plan);
    const left = this.#leftOf(accountId, name, bounds) - units;
    this.#accounts.set(`${name} ${accountId}`, { ...bounds, left, at: this.#now() });
  }

  /** Takes what a call is known to cause; throws `rate_limited` while nothing is left. */
  take(payer: Payer, name: AccountBudgetName, units: number): void {
    this.require(payer, name);
    this.spend(payer, name, units);
  }

  /**
   * Takes what work may cause before it begins, so that work that begins meanwhile finds it taken;
   * the returned function settles what it has caused. Throws `rate_limited` while nothing is left.
   */
  reserve(payer: Payer, name: AccountBudgetName, units: number): (caused: number) => void {
    this.take(payer, name, units);
    return (caused) => this.spend(payer, name, caused - units);
  }

  /** The budgets that the payer's callers can meet. */
  list({ accountId, plan }: Payer): BudgetState[] {
    return ACCOUNT_BUDGET_NAMES.filter((name) => ACCOUNT_BUDGETS[name].seenBy === "caller").map(
      (name) => {
        const bounds = boundsOf(name, plan);
        const left = this.#leftOf(accountId, name, bounds);
        const missing = Math.max(0, bounds.atOnce - left);
        const fullAt = Date.now() + (missing / bounds.perSecond) * 1_000;
        return { name, unit: ACCOUNT_BUDGETS[name].unit, ...bounds, left, fullAt };
      },
    );
  }

  #leftOf(accountId: Uuid, name: AccountBudgetName, { atOnce, perSecond }: Bounds): number {
    const known = this.#accounts.get(`${name} ${accountId}`);
    if (known === undefined) return atOnce;
    return Math.min(atOnce, known.left + ((this.#now() - known.at) / 1_000) * perSecond);
  }
}

/** Of this process. */
export const budgets = new Budgets();

/** A fraction of a unit is not enough to begin with. */
const waitFor = (left: number, { perSecond }: Bounds, kept: number): number =>
  left >= kept + 1 ? 0 : Math.ceil(((kept + 1 - left) / perSecond) * 1_000);

/** Says which budget is used up, how much it is, and when there is something of it again. */
function exceeded(
  name: AccountBudgetName,
  { atOnce, perSecond }: Bounds,
  left: number,
  waitMs: number,
): ApiError {
  const { exceeded: what, unit } = ACCOUNT_BUDGETS[name];
  const seconds = Math.ceil(waitMs / 1_000);
  const rate = `${inWords(atOnce)} ${unit} at once, and ${rateOf(perSecond)}`;
  return new ApiError(
    "rate_limited",
    `Rate limit exceeded: ${what} (${name}: ${rate}). Try again in ${inSeconds(seconds)}.`,
    {
      retryAfterSeconds: seconds,
      headers: rateLimitHeaders({
        name,
        limit: Math.round(atOnce),
        seconds: Math.ceil(atOnce / perSecond),
        used: Math.round(atOnce - Math.max(0, Math.floor(left))),
        resetsAt: Date.now() + waitMs,
      }),
    },
  );
}

const rateOf = (perSecond: number): string =>
  perSecond >= 1
    ? `${inWords(perSecond)} a second`
    : `${inWords((perSecond * HOUR_MS) / 1_000)} an hour`;

const inWords = (count: number): string => Math.round(count).toLocaleString("en");

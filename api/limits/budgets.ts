/**
 * The rest of each account's budgets (`shared/budgets.ts`), in this process's memory: what a
 * call has caused is taken as it becomes known, and time refills it.
 */
import {
  ACCOUNT_BUDGET_NAMES,
  ACCOUNT_BUDGETS,
  type AccountBudgetName,
  type Bounds,
  boundsOf,
} from "../../shared/budgets.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import { FairQueue } from "../../shared/fair-queue.ts";
import type { Uuid } from "../../shared/ids.ts";
import { Credit } from "../../shared/local-limits.ts";
import { ApiError } from "../http/errors.ts";
import { inSeconds, rateLimitHeaders } from "./windows.ts";

/** Budgets remembered; beyond, the one used least recently is full again. */
const BUDGETS_MAX = 200_000;

/** Who pays for work. */
export type Payer = { accountId: Uuid; plan: string };

/** The state of a budget, for those who can meet it. */
export type BudgetState = Bounds & {
  name: AccountBudgetName;
  unit: string;
  left: number;
  /** When all of it is back, in Unix milliseconds. */
  fullAt: number;
};

export class Budgets {
  readonly #credit: Credit;

  constructor(now?: () => number) {
    this.#credit = new Credit(BUDGETS_MAX, now);
  }

  /** Milliseconds until more than `kept` of the payer's budget is left; 0 if it is. */
  waitMs({ accountId, plan }: Payer, name: AccountBudgetName, kept = 0): number {
    return this.#credit.waitMs(keyOf(accountId, name), boundsOf(name, plan), kept);
  }

  /** Throws `rate_limited` unless more than `kept` of the payer's budget is left. */
  require(payer: Payer, name: AccountBudgetName, kept = 0): void {
    const wait = this.waitMs(payer, name, kept);
    if (wait === 0) return;
    const bounds = boundsOf(name, payer.plan);
    throw exceeded(name, bounds, this.#credit.left(keyOf(payer.accountId, name), bounds), wait);
  }

  /** Takes what the payer has caused, even if less is left; gives back what is negative. */
  spend({ accountId, plan }: Payer, name: AccountBudgetName, units: number): void {
    this.#credit.spend(keyOf(accountId, name), units, boundsOf(name, plan));
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
        const left = this.#credit.left(keyOf(accountId, name), bounds);
        const missing = Math.max(0, bounds.atOnce - left);
        const fullAt = Date.now() + (missing / bounds.perSecond) * 1_000;
        return { name, unit: ACCOUNT_BUDGETS[name].unit, ...bounds, left, fullAt };
      },
    );
  }
}

const keyOf = (accountId: Uuid, name: AccountBudgetName): string => `${name} ${accountId}`;

/** Of this process. */
export const budgets = new Budgets();

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
        spent: Math.round(atOnce - Math.max(0, Math.floor(left))),
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

/** Each takes up to 16 MB, and some tenths of a second of a core. */
const DRAWING = { running: 2, runningEach: 1, waiting: 128, waitingEach: 16, waitMs: 5_000 };

const queue = new FairQueue("the drawing of images", DRAWING);

/** Milliseconds that are taken while an image waits, before it is known what it takes. */
const RESERVED_MS = 100;

/** Runs work of a payer; throws `rate_limited`, and {@link QueueFull}. */
export async function drawInTurn<T>(payer: Payer, work: () => Promise<T>): Promise<T> {
  const settle = budgets.reserve(payer, "images", RESERVED_MS);
  let startedMs: number | undefined;
  try {
    return await queue.run(payer.accountId, () => {
      startedMs = performance.now();
      return work();
    });
  } finally {
    settle(startedMs === undefined ? 0 : performance.now() - startedMs);
  }
}

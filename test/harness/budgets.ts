/** Budgets of accounts in tests. */
import { budgets, type Payer } from "../../api/limits/budgets.ts";
import { type AccountBudgetName, boundsOf } from "../../shared/budgets.ts";

/** Seconds for which a budget is used up: longer than a test runs. */
const USED_UP_SECONDS = 1_000;

/** Uses up a budget of an account for the rest of the test. */
export function useUp(payer: Payer, name: AccountBudgetName): void {
  const { atOnce, perSecond } = boundsOf(name, payer.plan);
  budgets.spend(payer, name, atOnce + USED_UP_SECONDS * perSecond);
}

/** Accounts and their plans, for operators. */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";
import type { AccountLimits, AccountRow, Plan } from "./model.ts";
import { insertAccount, listAccounts, updatePlan, updateSuspension } from "./sql.ts";

export class AccountService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Creates an account and returns its id. Throws when the plan does not allow these limits. */
  async create(name: string, plan: Plan, limits: AccountLimits): Promise<Uuid> {
    requireAllowedLimits(plan, limits);
    const id = newUuid();
    await insertAccount(this.#sql, { id, name, plan, limits });
    return id;
  }

  /** Lists all accounts, oldest first. `suspended` is an instant, or `infinity`. */
  list(): Promise<AccountRow[]> {
    return listAccounts(this.#sql);
  }

  /**
   * Changes an account's plan, from its next request on. Returns false when there is no such
   * account.
   */
  async setPlan(id: Uuid, plan: Plan, limits: AccountLimits): Promise<boolean> {
    requireAllowedLimits(plan, limits);
    return await updatePlan(this.#sql, id, plan, limits);
  }

  /**
   * Suspends an account's access for `minutes`, or until the suspension is lifted; 0 lifts it.
   * Returns false when there is no such account.
   */
  suspend(id: Uuid, minutes: number | undefined): Promise<boolean> {
    return updateSuspension(this.#sql, id, minutes);
  }
}

function requireAllowedLimits(plan: Plan, limits: AccountLimits): void {
  const { quotas: _, ...windows } = limits;
  if (plan === "enterprise" || Object.keys(windows).length === 0) return;
  throw new Error("Only the enterprise plan takes limits of its own, but for quotas.");
}

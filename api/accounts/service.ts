/** Accounts and their plans, for operators. */
import type { JSONValue } from "postgres";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import { OPERATOR } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
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
    await this.#sql.begin(async (sql) => {
      await insertAccount(sql, { id, name, plan, limits });
      await recordAccount(sql, id, "account.created", { name, plan, limits });
    });
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
    return await this.#sql.begin(async (sql) => {
      const isFound = await updatePlan(sql, id, plan, limits);
      if (isFound) await recordAccount(sql, id, "account.updated", { plan, limits });
      return isFound;
    });
  }

  /**
   * Suspends an account's access for `minutes`, or until the suspension is lifted; 0 lifts it.
   * Returns false when there is no such account.
   */
  suspend(id: Uuid, minutes: number | undefined): Promise<boolean> {
    return this.#sql.begin(async (sql) => {
      const isFound = await updateSuspension(sql, id, minutes);
      const terms = { suspended: minutes !== 0, minutes: minutes ?? null };
      if (isFound) await recordAccount(sql, id, "account.updated", terms);
      return isFound;
    });
  }
}

const recordAccount = (
  sql: Transaction,
  id: Uuid,
  type: "account.created" | "account.updated",
  terms: Record<string, JSONValue>,
): Promise<void> =>
  recordEvents(sql, { accountId: id, mode: "live", actor: OPERATOR }, [
    { type, objectId: id, data: { account: { id: encodeId("acct", id), ...terms } } },
  ]);

function requireAllowedLimits(plan: Plan, limits: AccountLimits): void {
  const { quotas: _, ...windows } = limits;
  if (plan === "enterprise" || Object.keys(windows).length === 0) return;
  throw new Error("Only the enterprise plan takes limits of its own, but for quotas.");
}

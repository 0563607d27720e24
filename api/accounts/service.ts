/** Accounts and their plans, for operators. */
import type { JSONValue } from "postgres";
import * as z from "zod";

import { type Plan, PLANS } from "../../shared/budgets.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import { OPERATOR } from "../http/principal.ts";
import { type EndpointLimit, QUOTAS } from "../limits/quotas.ts";
import type { Sql, Transaction } from "../postgres.ts";

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
      await sql`
        insert into accounts (id, name, plan, limits)
        values (${id}, ${name}, ${plan}, ${sql.json(limits)})`;
      await recordAccount(sql, id, "account.created", { name, plan, limits });
    });
    return id;
  }

  /** Lists all accounts, oldest first. `suspended` is an instant, or `infinity`. */
  list(): Promise<AccountRow[]> {
    return this.#sql<AccountRow[]>`
      select id, name, plan, limits, created_at,
             case when suspended_until > now() then suspended_until::text end as suspended
        from accounts order by id`;
  }

  /**
   * Changes an account's plan, from its next request on. Returns false when there is no such
   * account.
   */
  async setPlan(id: Uuid, plan: Plan, limits: AccountLimits): Promise<boolean> {
    requireAllowedLimits(plan, limits);
    return await this.#sql.begin(async (sql) => {
      const { count } = await sql`
        update accounts set plan = ${plan}, limits = ${sql.json(limits)} where id = ${id}`;
      if (count === 1) await recordAccount(sql, id, "account.updated", { plan, limits });
      return count === 1;
    });
  }

  /**
   * Suspends an account's access for `minutes`, or until the suspension is lifted; 0 lifts it.
   * Returns false when there is no such account.
   */
  suspend(id: Uuid, minutes: number | undefined): Promise<boolean> {
    return this.#sql.begin(async (sql) => {
      const { count } = await sql`
        update accounts
           set suspended_until = case ${minutes ?? -1}::integer
                 when -1 then 'infinity'::timestamptz
                 when 0 then null
                 else clock_timestamp() + make_interval(mins => ${minutes ?? 0}) end
         where id = ${id}`;
      const terms = { suspended: minutes !== 0, minutes: minutes ?? null };
      if (count === 1) await recordAccount(sql, id, "account.updated", terms);
      return count === 1;
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

export { type Plan, PLANS };

const limit = z.int().positive().max(1_000_000_000);

/**
 * Limits of one account; the plan's limits apply where one is absent. Every plan allows quotas per
 * account. Only the enterprise plan allows the other limits.
 */
export const accountLimits = z.strictObject({
  minute: limit.optional(),
  day: limit.optional(),
  burst: limit.optional(),
  endpoints: z
    .strictObject({
      "POST /v1/links": limit.optional(),
      "POST /v1/analytics/bulk": limit.optional(),
      "GET /v1/analytics/*": limit.optional(),
      "POST /v1/domains": limit.optional(),
    } satisfies Record<EndpointLimit, z.ZodType>)
    .optional(),
  quotas: z.partialRecord(z.enum(QUOTAS), limit).optional(),
});

export type AccountLimits = z.output<typeof accountLimits>;

type AccountRow = {
  id: Uuid;
  name: string;
  plan: Plan;
  limits: AccountLimits;
  suspended: string | null;
  created_at: Date;
};

/** Accounts, their plans, and the limits set for a single account; for operators. */
import * as z from "zod";

import { type Plan, PLANS } from "../../shared/budgets.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { type EndpointLimit, QUOTAS } from "../limits/quotas.ts";
import type { Sql } from "../postgres.ts";

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

/** `suspended` is an instant, or `infinity`. */
type Account = {
  id: Uuid;
  name: string;
  plan: Plan;
  limits: AccountLimits;
  suspended: string | null;
  created_at: Date;
};

export class AccountService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Creates an account and returns its id. Throws when the plan does not allow these limits. */
  async create(name: string, plan: Plan, limits: AccountLimits): Promise<Uuid> {
    requireAllowedLimits(plan, limits);
    const id = newUuid();
    await this.#sql`
      insert into accounts (id, name, plan, limits)
      values (${id}, ${name}, ${plan}, ${this.#sql.json(limits)})`;
    return id;
  }

  /** Lists all accounts, oldest first. */
  list(): Promise<Account[]> {
    return this.#sql<Account[]>`
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
    const { count } = await this.#sql`
      update accounts set plan = ${plan}, limits = ${this.#sql.json(limits)} where id = ${id}`;
    return count === 1;
  }

  /**
   * Suspends an account's access for `minutes`, or until the suspension is lifted; 0 lifts it.
   * Returns false when there is no such account.
   */
  async suspend(id: Uuid, minutes: number | undefined): Promise<boolean> {
    const { count } = await this.#sql`
      update accounts
         set suspended_until = case ${minutes ?? -1}::integer
               when -1 then 'infinity'::timestamptz
               when 0 then null
               else clock_timestamp() + make_interval(mins => ${minutes ?? 0}) end
       where id = ${id}`;
    return count === 1;
  }
}

function requireAllowedLimits(plan: Plan, limits: AccountLimits): void {
  const { quotas: _, ...windows } = limits;
  if (plan === "enterprise" || Object.keys(windows).length === 0) return;
  throw new Error("Only the enterprise plan takes limits of its own, but for quotas.");
}

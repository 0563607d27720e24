/** Accounts: who is a customer, on which plan. */
import * as z from "zod";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";

export const PLANS = ["free", "pro", "business", "enterprise"] as const;
type Plan = (typeof PLANS)[number];

const allowance = z.int().positive().max(1_000_000_000);

/** Numbers of an enterprise account's own; what is left out is as the plan has it. */
export const accountLimits = z.strictObject({
  minute: allowance.optional(),
  day: allowance.optional(),
  burst: allowance.optional(),
  endpoints: z
    .strictObject({
      "POST /v1/links": allowance.optional(),
      "POST /v1/analytics/bulk": allowance.optional(),
      "GET /v1/analytics/*": allowance.optional(),
      "POST /v1/domains": allowance.optional(),
    })
    .optional(),
});

export type AccountLimits = z.output<typeof accountLimits>;

export type AccountRow = {
  id: Uuid;
  name: string;
  plan: Plan;
  limits: AccountLimits;
  suspended: string | null;
  created_at: Date;
};

export function createAccountService({ sql }: { sql: Sql }) {
  return {
    /** Opens an account and returns its id. Throws when the plan takes no limits of its own. */
    async create(name: string, plan: Plan, limits: AccountLimits): Promise<Uuid> {
      requireOwnLimits(plan, limits);
      const id = newUuid();
      await sql`
        insert into accounts (id, name, plan, limits)
        values (${id}, ${name}, ${plan}, ${sql.json(limits)})`;
      return id;
    },

    /** All accounts, oldest first. `suspended` is an instant, or `infinity`. */
    async list(): Promise<AccountRow[]> {
      return await sql<AccountRow[]>`
        select id, name, plan, limits, created_at,
               case when suspended_until > now() then suspended_until::text end as suspended
          from accounts order by id`;
    },

    /** Moves an account to another plan, from its next request on. False when there is none. */
    async setPlan(id: Uuid, plan: Plan, limits: AccountLimits): Promise<boolean> {
      requireOwnLimits(plan, limits);
      const rows = await sql`
        update accounts set plan = ${plan}, limits = ${sql.json(limits)} where id = ${id} returning id`;
      return rows.length === 1;
    },

    /**
     * Shuts an account out of the API for so many minutes, or until it is lifted; 0 lifts. False when
     * there is none.
     */
    async suspend(id: Uuid, minutes: number | undefined): Promise<boolean> {
      const rows = await sql`
        update accounts
           set suspended_until = case ${minutes ?? -1}::integer
                 when -1 then 'infinity'::timestamptz
                 when 0 then null
                 else clock_timestamp() + make_interval(mins => ${minutes ?? 0}) end
         where id = ${id} returning id`;
      return rows.length === 1;
    },
  };
}

function requireOwnLimits(plan: Plan, limits: AccountLimits): void {
  if (plan === "enterprise" || Object.keys(limits).length === 0) return;
  throw new Error("Only the enterprise plan takes limits of its own.");
}

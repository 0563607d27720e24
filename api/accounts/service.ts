/** Accounts: who is a customer, on which plan. */
import * as z from "zod";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";

export const PLANS = ["free", "pro", "business", "enterprise"] as const;
type Plan = (typeof PLANS)[number];

const allowance = z.int().positive();

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

export type NewAccount = { name: string; plan: Plan; limits: AccountLimits };

export function createAccountService({ sql }: { sql: Sql }) {
  /** Opens an account and returns its id. */
  async function create(account: NewAccount): Promise<Uuid> {
    const id = newUuid();
    await sql`
      insert into accounts (id, name, plan, limits)
      values (${id}, ${account.name}, ${account.plan}, ${sql.json(account.limits)})`;
    return id;
  }

  return { create };
}

/** SQL of accounts. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { AccountLimits, AccountRow, Plan } from "./model.ts";

export async function insertAccount(
  sql: Transaction,
  { id, name, plan, limits }: Omit<AccountRow, "suspended" | "created_at">,
): Promise<void> {
  await sql`
    insert into accounts (id, name, plan, limits)
    values (${id}, ${name}, ${plan}, ${sql.json(limits)})`;
}

/** Lists all accounts, oldest first. `suspended` is an instant, or `infinity`. */
export const listAccounts = (sql: Sql): Promise<AccountRow[]> =>
  sql<AccountRow[]>`
    select id, name, plan, limits, created_at,
           case when suspended_until > now() then suspended_until::text end as suspended
      from accounts order by id`;

/** Returns false when there is no such account. */
export async function updatePlan(
  sql: Transaction,
  id: Uuid,
  plan: Plan,
  limits: AccountLimits,
): Promise<boolean> {
  const rows = await sql`
    update accounts set plan = ${plan}, limits = ${sql.json(limits)} where id = ${id} returning id`;
  return rows.length === 1;
}

/**
 * Suspends an account for `minutes`, or without an end; 0 lifts the suspension. False when there is
 * no such account.
 */
export async function updateSuspension(
  sql: Transaction,
  id: Uuid,
  minutes: number | undefined,
): Promise<boolean> {
  const rows = await sql`
    update accounts
       set suspended_until = case ${minutes ?? -1}::integer
             when -1 then 'infinity'::timestamptz
             when 0 then null
             else clock_timestamp() + make_interval(mins => ${minutes ?? 0}) end
     where id = ${id} returning id`;
  return rows.length === 1;
}

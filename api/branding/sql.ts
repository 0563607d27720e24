/** SQL statements on the branding of accounts. */
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { Brand } from "./model.ts";

export async function findBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
): Promise<Brand | undefined> {
  const [row] = await sql<Brand[]>`
    select name, color, logo from account_branding where account_id = ${accountId} and mode = ${mode}`;
  return row;
}

/** Changes fields of the owner's branding, and counts the change. */
export async function changeBranding(
  sql: Sql,
  { accountId, mode }: AccountScope,
  change: Partial<Brand>,
): Promise<Brand> {
  const { name, color, logo } = change;
  const [row] = await sql<[Brand]>`
    insert into account_branding as b (account_id, mode, name, color, logo)
    values (${accountId}, ${mode}, ${name ?? null}, ${color ?? null}, ${logo ?? null})
    on conflict (account_id, mode) do update
       set name = case when ${name !== undefined} then excluded.name else b.name end,
           color = case when ${color !== undefined} then excluded.color else b.color end,
           logo = case when ${logo !== undefined} then excluded.logo else b.logo end,
           version = b.version + 1,
           updated_at = now()
    returning name, color, logo`;
  return row;
}

/** SQL statements of an upgrade. */
import type { Sql } from "../../../api/postgres.ts";

/** Runs the statements of `grants.sql`, unless the installation has users of its own. */
export async function runGrants(sql: Sql, statements: string): Promise<void> {
  const roles = await sql`
    select from pg_roles where rolname in ('shorthop_api', 'shorthop_worker')`;
  if (roles.length === 2) await sql.unsafe(statements).simple();
}

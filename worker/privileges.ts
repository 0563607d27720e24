/** Checks the worker's privileges in PostgreSQL. */
import type postgres from "postgres";

/**
 * Throws an error that names each privilege that the worker lacks to write the counters of links.
 */
export async function requirePrivileges(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<[{ exists: boolean; permitted: boolean | null }]>`
    select to_regclass('link_counters') is not null as exists,
           has_table_privilege(to_regclass('link_counters'), 'SELECT')
             and has_table_privilege(to_regclass('link_counters'), 'UPDATE') as permitted`;
  if (!row.exists) throw new Error("has no schema");
  if (row.permitted !== true) throw new Error("lacks SELECT and UPDATE on link_counters");
}

/** Checks the worker's privileges in PostgreSQL. */
import type postgres from "postgres";

/**
 * Throws an error that names each privilege that the worker lacks to write the counters of links
 * and events.
 */
export async function requirePrivileges(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<[{ exists: boolean; counts: boolean | null; records: boolean | null }]>`
    select to_regclass('link_counters') is not null as exists,
           has_table_privilege(to_regclass('link_counters'), 'SELECT')
             and has_table_privilege(to_regclass('link_counters'), 'UPDATE') as counts,
           has_table_privilege(to_regclass('events'), 'SELECT')
             and has_table_privilege(to_regclass('events'), 'INSERT')
             and has_table_privilege(to_regclass('event_readers'), 'SELECT')
             and has_table_privilege(to_regclass('event_progress'), 'SELECT')
             and has_table_privilege(to_regclass('event_progress'), 'UPDATE') as records`;
  if (!row.exists) throw new Error("has no schema");
  if (row.counts !== true) throw new Error("lacks SELECT and UPDATE on link_counters");
  if (row.records !== true)
    throw new Error("lacks SELECT and INSERT on events, or SELECT and UPDATE on event_progress");
}

/** Checks the worker's privileges in PostgreSQL. */
import type postgres from "postgres";

/** What the worker does with tables: the counters of links, events and webhooks. */
const PRIVILEGES = {
  link_counters: ["SELECT", "UPDATE"],
  events: ["SELECT", "INSERT"],
  event_readers: ["SELECT"],
  event_progress: ["SELECT", "UPDATE"],
  webhooks: ["SELECT"],
  webhook_deliveries: ["SELECT", "INSERT", "UPDATE"],
};

/** Throws an error that names each privilege that the worker lacks. */
export async function requirePrivileges(sql: postgres.Sql): Promise<void> {
  const wanted = Object.entries(PRIVILEGES).flatMap(([table, rights]) =>
    rights.map((right) => ({ table, right })),
  );
  const rows = await sql<{ exists: boolean; missing: string }[]>`
    select to_regclass('link_counters') is not null as exists, "right" || ' on ' || "table" as missing
      from jsonb_to_recordset(${sql.json(wanted)}::jsonb) as wanted ("table" text, "right" text)
     where has_table_privilege(to_regclass("table"), "right") is not true`;
  if (rows.some(({ exists }) => !exists)) throw new Error("has no schema");
  if (rows.length > 0) throw new Error(`lacks ${rows.map(({ missing }) => missing).join(", ")}`);
}

/** Whether the database has the schema that this version of the API needs. */
import { checksumOf } from "../../shared/migrations.ts";
import type { Sql } from "../postgres.ts";
import { migrations } from "./index.ts";

/** SQLSTATE of a table that does not exist. */
const UNDEFINED_TABLE = "42P01";

/**
 * Returns `ok` when every migration of this version is applied, else what is missing; a later
 * version may have applied more. Rejects when the database does not respond.
 */
export async function schemaState(sql: Sql): Promise<string> {
  const applied = await readChecksums(sql);
  for (const migration of migrations) {
    const checksum = applied.get(migration.id);
    if (checksum === undefined)
      return `migration ${migration.name} is not applied: run shorthop migrate`;
    if (checksum !== checksumOf(migration)) return `migration ${migration.name} is another one`;
  }
  return "ok";
}

async function readChecksums(sql: Sql): Promise<Map<number, string>> {
  try {
    const rows = await sql<{ id: number; checksum: string }[]>`
      select id, checksum from schema_migrations`;
    return new Map(rows.map(({ id, checksum }) => [id, checksum]));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === UNDEFINED_TABLE)
      return new Map();
    throw error;
  }
}

/** Migrates ClickHouse's schema. */
import type { ClickHouseClient } from "@clickhouse/client";

import type { Log } from "../../shared/log.ts";
import { type AppliedMigration, checksumOf, pendingMigrations } from "../../shared/migrations.ts";
import { migrations } from "./index.ts";

/**
 * Applies pending migrations. ClickHouse has no transactions for schema changes, so every statement
 * must be idempotent: a migration that was interrupted, or that two processes apply at once, is
 * applied again.
 */
export async function migrateClickHouse(client: ClickHouseClient, log: Log): Promise<void> {
  await client.command({
    query: `
      CREATE TABLE IF NOT EXISTS schema_migrations (
        id UInt32, name String, checksum String, applied_at DateTime('UTC') DEFAULT now()
      ) ENGINE = ReplacingMergeTree ORDER BY id`,
  });
  for (const migration of pendingMigrations(migrations, await readApplied(client))) {
    for (const statement of statementsOf(migration.text))
      await client.command({ query: statement });
    const { id, name } = migration;
    await client.insert({
      table: "schema_migrations",
      values: [{ id, name, checksum: checksumOf(migration) }],
      columns: ["id", "name", "checksum"],
      format: "JSONEachRow",
    });
    log.info({ migration: name }, "migration_applied");
  }
}

/**
 * Reads which migrations are applied. Throws when the table is missing, as before the first one.
 */
export async function readApplied(client: ClickHouseClient): Promise<AppliedMigration[]> {
  const result = await client.query({
    query: "SELECT id, checksum FROM schema_migrations FINAL",
    format: "JSONEachRow",
  });
  return await result.json<AppliedMigration>();
}

/**
 * Splits a migration, as ClickHouse accepts one statement at a time. Each ends with a semicolon at
 * the end of a line.
 */
export const statementsOf = (text: string): string[] =>
  text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

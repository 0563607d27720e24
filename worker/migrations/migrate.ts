/** Brings ClickHouse's schema up to date. */
import type { ClickHouseClient } from "@clickhouse/client";

import type { Log } from "../../shared/log.ts";
import { type AppliedMigration, checksumOf, pendingMigrations } from "../../shared/migrations.ts";
import { migrations } from "./index.ts";

/**
 * Applies the steps that are missing. ClickHouse has no transactions over schema changes, so every
 * statement must have no effect the second time: a step cut short, or applied by two at once, is
 * then simply applied again.
 */
export async function migrateClickHouse(client: ClickHouseClient, log: Log): Promise<void> {
  await client.command({
    query: `
      CREATE TABLE IF NOT EXISTS schema_migrations (
        id UInt32, name String, checksum String, applied_at DateTime('UTC') DEFAULT now()
      ) ENGINE = ReplacingMergeTree ORDER BY id`,
  });
  const result = await client.query({
    query: "SELECT id, checksum FROM schema_migrations FINAL",
    format: "JSONEachRow",
  });
  for (const migration of pendingMigrations(migrations, await result.json<AppliedMigration>())) {
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

/** ClickHouse takes one statement at a time; each ends with a semicolon at the end of a line. */
export const statementsOf = (text: string): string[] =>
  text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

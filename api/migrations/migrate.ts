/** Brings PostgreSQL's schema up to date. */
import type { Log } from "../../shared/log.ts";
import { type AppliedMigration, checksumOf, pendingMigrations } from "../../shared/migrations.ts";
import type { Sql } from "../postgres.ts";
import { migrations } from "./index.ts";

/** Any number will do, as long as nothing else in the database locks it. */
const MIGRATION_LOCK = 7_408_221;

/**
 * Applies the steps that are missing, each in a transaction of its own. Runs one at a time, however
 * many processes start; throws when an applied step no longer reads as it did.
 */
export async function migratePostgres(sql: Sql, log: Log): Promise<void> {
  const connection = await sql.reserve();
  try {
    await connection`select pg_advisory_lock(${MIGRATION_LOCK})`;
    await connection`
      create table if not exists schema_migrations (
        id integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz(3) not null default now()
      )`;
    const applied = await connection<AppliedMigration[]>`
      select id, checksum from schema_migrations`;
    for (const migration of pendingMigrations(migrations, applied)) {
      await connection`begin`;
      try {
        await connection.unsafe(migration.text).simple();
        await connection`
          insert into schema_migrations (id, name, checksum)
          values (${migration.id}, ${migration.name}, ${checksumOf(migration)})`;
        await connection`commit`;
      } catch (error) {
        await connection`rollback`;
        throw error;
      }
      log.info({ migration: migration.name }, "migration_applied");
    }
  } finally {
    await connection`select pg_advisory_unlock(${MIGRATION_LOCK})`.catch(() => undefined);
    connection.release();
  }
}

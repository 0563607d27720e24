/** Brings PostgreSQL's schema up to date, creates a missing database, and checks the schema. */
import type { DestinationStream } from "pino";
import postgres, { type ReservedSql } from "postgres";

import { loadConfig } from "../../shared/env.ts";
import { type Log, processLog } from "../../shared/log.ts";
import {
  type AppliedMigration,
  checksumOf,
  type Migration,
  pendingMigrations,
} from "../../shared/migrations.ts";
import { databaseOf, withDatabase } from "../../shared/postgres.ts";
import { migrateConfigSchema } from "../config.ts";
import { errorCode, postgresPool, type Sql, usePostgres } from "../postgres.ts";
import accounts from "./0001_accounts.sql" with { type: "text" };
import quotas from "./0002_quotas.sql" with { type: "text" };
import links from "./0003_links.sql" with { type: "text" };
import linksLog from "./0004_links_log.sql" with { type: "text" };
import dashboard from "./0005_dashboard.sql" with { type: "text" };
import events from "./0006_events.sql" with { type: "text" };
import reports from "./0007_reports.sql" with { type: "text" };
import imports from "./0008_imports.sql" with { type: "text" };
import reviews from "./0009_reviews.sql" with { type: "text" };

/**
 * Creates the database of `DATABASE_URL` if it is missing, and applies pending migrations. Logs to
 * standard output, or to `output`.
 */
export async function migrate(
  env: Record<string, string | undefined>,
  output?: DestinationStream,
): Promise<void> {
  const config = loadConfig(migrateConfigSchema, env);
  const log = processLog("api", config.LOG_LEVEL, output);
  await ensureDatabase(config.DATABASE_URL, log);
  await usePostgres(config.DATABASE_URL, (sql) => migratePostgres(sql, log));
}

type PostgresMigration = Migration & {
  /** Its statements run one by one, because PostgreSQL rejects them in a transaction. */
  concurrent?: true;
};

/** The schema of PostgreSQL. Migrations are only added: an applied one never changes. */
export const migrations: readonly PostgresMigration[] = [
  { id: 1, name: "accounts", text: accounts },
  { id: 2, name: "quotas", text: quotas },
  { id: 3, name: "links", text: links },
  { id: 4, name: "links_log", text: linksLog },
  { id: 5, name: "dashboard", text: dashboard },
  { id: 6, name: "events", text: events },
  { id: 7, name: "reports", text: reports },
  { id: 8, name: "imports", text: imports },
  { id: 9, name: "reviews", text: reviews },
];

const { PostgresError } = postgres;

/** An arbitrary number that nothing else in the database locks. */
const MIGRATION_LOCK = 7_408_221;
const LOCK_RETRY_MS = 200;

/**
 * Maximum time that a migration waits for a table lock. All later statements on the table queue
 * behind it, so it gives up soon and retries, which lets requests through.
 */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_ATTEMPTS_MAX = 30;
const LOCK_ATTEMPT_DELAY_MS = 1_000;

/** SQLSTATE of a statement that waited for a lock longer than `lock_timeout`. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Applies the missing migrations, each in its own transaction except those that cannot run in one.
 * Only one process at a time applies them. Throws when an applied migration has changed. Tests pass
 * migrations of their own.
 */
export async function migratePostgres(
  sql: Sql,
  log: Log,
  all: readonly PostgresMigration[] = migrations,
): Promise<void> {
  const connection = await sql.reserve();
  try {
    // Building an index has no time limit.
    await connection`set statement_timeout = 0`;
    await connection.unsafe(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await waitForLock(connection);
    await connection`
      create table if not exists schema_migrations (
        id integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz(3) not null default now()
      )`;
    const applied = await connection<AppliedMigration[]>`
      select id, checksum from schema_migrations`;
    if (applied.length === 0) await requireUnicode(connection);
    for (const migration of pendingMigrations(all, applied)) {
      const apply = migration.concurrent === true ? applyOneByOne : applyWhole;
      await retryOnLock(migration, log, () => apply(connection, migration));
      log.info({ migration: migration.name }, "migration_applied");
    }
  } finally {
    await connection`select pg_advisory_unlock(${MIGRATION_LOCK})`.catch(() => undefined);
    connection.release();
  }
}

/**
 * Repeats a migration that could not lock a table in time. Throws its error after the last attempt.
 */
async function retryOnLock(
  { name }: PostgresMigration,
  log: Log,
  apply: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await apply();
      return;
    } catch (error) {
      const isLocked = error instanceof PostgresError && error.code === LOCK_NOT_AVAILABLE;
      if (!isLocked || attempt === LOCK_ATTEMPTS_MAX) throw error;
      log.warn({ migration: name, attempt }, "migration_waits_for_lock");
      await Bun.sleep(LOCK_ATTEMPT_DELAY_MS);
    }
  }
}

/** Polls for the lock: a waiting statement would block every concurrent index build. */
async function waitForLock(connection: ReservedSql): Promise<void> {
  for (;;) {
    const [row] = await connection<[{ locked: boolean }]>`
      select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`;
    if (row.locked) return;
    await Bun.sleep(LOCK_RETRY_MS);
  }
}

/** Letters, and their lower case in Unicode: the locale `C` keeps É, and Turkish has another i. */
const CASES = ["ÉI", "éi"] as const;

/**
 * Throws unless a new database has the lower case of Unicode; one that was created without a locale
 * does not. Names that redirectors consider the same would be different ones in it.
 */
async function requireUnicode(connection: ReservedSql): Promise<void> {
  const [upper, lower] = CASES;
  const [row] = await connection<[{ encoding: string; database: string; folds: boolean }]>`
    select current_setting('server_encoding') as encoding, current_database() as database,
           lower(${upper}::text collate "default") = ${lower} as folds`;
  if (row.encoding === "UTF8" && row.folds) return;
  throw new Error(
    `The database ${row.database} needs the encoding UTF8 and a locale with the cases of Unicode. Create it with: create database ${row.database} template template0 encoding 'UTF8' locale 'C.UTF-8'`,
  );
}

async function applyWhole(connection: ReservedSql, migration: PostgresMigration): Promise<void> {
  await connection`begin`;
  try {
    await connection.unsafe(migration.text).simple();
    await recordMigration(connection, migration);
    await connection`commit`;
  } catch (error) {
    await connection`rollback`;
    throw error;
  }
}

/**
 * The statements must be repeatable: after an interruption, the next start runs all of them again.
 */
async function applyOneByOne(connection: ReservedSql, migration: PostgresMigration): Promise<void> {
  for (const statement of migration.text.split(/;\s*$/m)) {
    if (statement.trim() !== "") await connection.unsafe(statement).simple();
  }
  await recordMigration(connection, migration);
}

async function recordMigration(
  connection: ReservedSql,
  migration: PostgresMigration,
): Promise<void> {
  await connection`
    insert into schema_migrations (id, name, checksum)
    values (${migration.id}, ${migration.name}, ${checksumOf(migration)})`;
}

/** SQLSTATE of a table that does not exist. */
const UNDEFINED_TABLE = "42P01";

/**
 * Returns `ok` when every migration of this version is applied, else a problem; a later version may
 * have applied more. Rejects when the database does not respond.
 */
export async function schemaState(sql: Sql): Promise<string> {
  const applied = await readChecksums(sql);
  for (const migration of migrations) {
    const checksum = applied.get(migration.id);
    if (checksum === undefined)
      return `migration ${migration.name} is not applied: run shorthop migrate`;
    if (checksum !== checksumOf(migration))
      return `migration ${migration.name} changed after it was applied`;
  }
  return "ok";
}

async function readChecksums(sql: Sql): Promise<Map<number, string>> {
  try {
    const rows = await sql<{ id: number; checksum: string }[]>`
      select id, checksum from schema_migrations`;
    return new Map(rows.map(({ id, checksum }) => [id, checksum]));
  } catch (error) {
    if (errorCode(error) === UNDEFINED_TABLE) return new Map();
    throw error;
  }
}

/** The database that every PostgreSQL server has. */
const MAINTENANCE_DATABASE = "postgres";

/** SQLSTATE of a database that does not exist. */
const INVALID_CATALOG_NAME = "3D000";

/** SQLSTATEs of a database that another process has just created. */
const CREATED_MEANWHILE = new Set(["42P04", "23505"]);

/**
 * Creates the database of a URL if it does not exist, for which the user needs the right to create
 * databases.
 */
async function ensureDatabase(url: string, log: Log): Promise<void> {
  const sql = postgresPool(url, 1);
  try {
    await sql`select 1`;
    return;
  } catch (error) {
    if (errorCode(error) !== INVALID_CATALOG_NAME) throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
  const maintenance = postgresPool(withDatabase(url, MAINTENANCE_DATABASE), 1);
  try {
    const database = databaseOf(url);
    await maintenance`create database ${maintenance(database)}`;
    log.info({ database }, "database_created");
  } catch (error) {
    if (!CREATED_MEANWHILE.has(errorCode(error) ?? "")) throw error;
  } finally {
    await maintenance.end({ timeout: 1 });
  }
}

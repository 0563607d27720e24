/** Creates the database of `DATABASE_URL` if it does not exist yet. */
import type { Log } from "../../shared/log.ts";
import { databaseOf, withDatabase } from "../../shared/postgres.ts";
import { postgresPool } from "../postgres.ts";

/** The database that every PostgreSQL server has. */
const MAINTENANCE_DATABASE = "postgres";

/** SQLSTATEs: the database does not exist, and: another process has just created it. */
const INVALID_CATALOG_NAME = "3D000";
const CREATED_MEANWHILE = new Set(["42P04", "23505"]);

/**
 * Does nothing when the database exists. The user needs the right to create databases otherwise.
 */
export async function ensureDatabase(url: string, log: Log): Promise<void> {
  const sql = postgresPool(url, 1);
  try {
    await sql`select 1`;
    return;
  } catch (error) {
    if (codeOf(error) !== INVALID_CATALOG_NAME) throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
  const maintenance = postgresPool(withDatabase(url, MAINTENANCE_DATABASE), 1);
  try {
    const database = databaseOf(url);
    await maintenance`create database ${maintenance(database)}`;
    log.info({ database }, "database_created");
  } catch (error) {
    if (!CREATED_MEANWHILE.has(codeOf(error) ?? "")) throw error;
  } finally {
    await maintenance.end({ timeout: 1 });
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

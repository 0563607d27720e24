/** The connections to PostgreSQL, and the errors that the API distinguishes. */
import postgres from "postgres";

import { connectPrimary } from "../shared/postgres.ts";

export type Sql = postgres.Sql;

/** The connection of a transaction. */
export type Transaction = postgres.TransactionSql;

/** Maximum time of a statement, so that a blocked database results in a 503. */
const STATEMENT_TIMEOUT_MS = 5_000;

/** Maximum wait for a connection, so that an unreachable database results in a 503. */
const CONNECT_TIMEOUT_SECONDS = 2;

/** Maximum time that closing a connection waits for its statement. */
const CLOSE_TIMEOUT_SECONDS = 2;

/**
 * Whether a field can contain a text: PostgreSQL rejects NUL, and no field contains another control
 * character. A query for any other text finds nothing.
 */
export const isStorable = (text: string): boolean => !/\p{Cc}/u.test(text);

export type PostgresTimeouts = {
  connectTimeoutSeconds?: number | undefined;
  statementTimeoutMs?: number;
};

/** Creates a pool of at most `connectionsMax` connections, which are opened when first needed. */
export const postgresPool = (
  url: string,
  connectionsMax: number,
  {
    connectTimeoutSeconds = CONNECT_TIMEOUT_SECONDS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  }: PostgresTimeouts = {},
): Sql =>
  connectPrimary(url, {
    max: connectionsMax,
    connect_timeout: connectTimeoutSeconds,
    idle_timeout: 60,
    max_lifetime: 30 * 60,
    backoff: () => 0.2,
    onnotice: () => undefined,
    connection: { application_name: "shorthop-api", statement_timeout: statementTimeoutMs },
  });

/**
 * Runs `work` on one connection of a database, and closes it; `connectTimeoutSeconds` as of {@link
 * postgresPool}.
 */
export async function usePostgres<T>(
  url: string,
  work: (sql: Sql) => Promise<T>,
  connectTimeoutSeconds?: number,
): Promise<T> {
  const sql = postgresPool(url, 1, { connectTimeoutSeconds });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: CLOSE_TIMEOUT_SECONDS });
  }
}

/** Takes the lock of a task until the transaction ends; false when another transaction has it. */
export async function tryToLock(transaction: Transaction, task: string): Promise<boolean> {
  // The seeds below are those of aliases and of accounts.
  const [row] = await transaction<[{ held: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended(${task}, 4)) as held`;
  return row.held;
}

/** Tables that only the owner writes: `deploy/postgres/grants.sql`. */
const READ_ONLY_TABLES = [
  "schema_migrations",
  "plans",
  "endpoint_limits",
  "quotas",
  "plan_quotas",
  "event_floors",
  "event_cuts",
  "event_heads",
  "click_event_days",
  "backups",
];

/** Tables that processes add to, but do not change. */
const APPENDED_TABLES = ["events"];

/**
 * Throws an error that names the missing rights when the API lacks a right on one of its tables or
 * sequences.
 */
export async function requirePrivileges(sql: Sql): Promise<void> {
  const rows = await sql<{ name: string; permitted: boolean }[]>`
    select relname as name,
           case relkind
             when 'S' then has_sequence_privilege(oid, 'USAGE')
             else has_table_privilege(oid, 'SELECT')
              and (relname = any (${READ_ONLY_TABLES}::text[])
                   or relname = any (${APPENDED_TABLES}::text[]) and has_table_privilege(oid, 'INSERT')
                   or has_table_privilege(oid, 'INSERT') and has_table_privilege(oid, 'UPDATE')
                      and has_table_privilege(oid, 'DELETE'))
           end as permitted
      from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S')
     order by relname`;
  if (rows.length === 0) throw new Error("has no schema");
  const missing = rows.filter(({ permitted }) => !permitted).map(({ name }) => name);
  if (missing.length > 0) throw new Error(`lacks privileges on ${missing.join(", ")}`);
}

/** Returns a right of the role that the API does not need; undefined if there is none. */
export async function findExcessPrivilege(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<[{ role: string; superuser: boolean; owner: boolean }]>`
    select rolname as role, rolsuper as superuser,
           exists (select from pg_class where relname = 'links' and relowner = pg_roles.oid) as owner
      from pg_roles where rolname = current_user`;
  if (row.superuser) return `the role ${row.role} is a superuser`;
  return row.owner ? `the role ${row.role} owns the tables` : undefined;
}

/** Describes statements of the API without a time limit: a pooler may drop the one that it sets. */
export async function describeTimeLimit(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<[{ limited: boolean }]>`
    select current_setting('statement_timeout') <> '0' as limited`;
  return row.limited ? undefined : "there is none: a pooler has dropped it";
}

/**
 * Whether the role can change the schema: it owns the tables, or may create them where there are
 * none.
 */
export async function requireOwnership(sql: Sql): Promise<void> {
  const [row] = await sql<[{ role: string; permitted: boolean }]>`
    select current_user as role,
           coalesce((select pg_has_role(relowner, 'USAGE') from pg_class
                      where relname = 'schema_migrations' and relnamespace = 'public'::regnamespace),
                    has_schema_privilege('public', 'CREATE')) as permitted`;
  if (!row.permitted) throw new Error(`the role ${row.role} does not own the tables`);
}

/** The SQLSTATE of a server whose disk is full. */
const DISK_FULL = "53100";

/** Whether PostgreSQL could not write because its disk is full. */
export const isDiskFull = (error: unknown): boolean => errorCode(error) === DISK_FULL;

/**
 * SQLSTATEs and system errors of a database that is unreachable, overloaded or no longer the
 * primary. 08, connection exceptions, and 57P01 to 57P05, shutting down or starting up, are tested
 * as prefixes. 0A000 also means other things.
 */
const UNAVAILABLE = new Set([
  "25006", // read-only: it has become a standby
  "40P01", // ended so that another transaction could go on: nothing was written
  DISK_FULL,
  "53300", // too many clients
  "57014", // the statement took too long
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
]);

/**
 * Whether an error means that the database is unavailable, rather than that it rejected the
 * statement.
 */
export function isUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  if (code === undefined) return false;
  return (
    UNAVAILABLE.has(code) ||
    /^(08|57P0|CONNECT)/.test(code) ||
    (code === "0A000" && error instanceof Error && error.message.includes("during recovery"))
  );
}

/** SQLSTATEs of a text that no field can contain: one with NUL, also as JSON. */
const UNSTORABLE = new Set(["22021", "22P05"]);

/** Whether PostgreSQL rejected a statement for the characters of a text in it. */
export const isUnstorable = (error: unknown): boolean => UNSTORABLE.has(errorCode(error) ?? "");

/** Whether an error is a violation of the named unique constraint. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  error instanceof postgres.PostgresError &&
  error.code === "23505" &&
  error.constraint_name === constraint;

/**
 * Whether an error is a violation of a foreign key: a missing row, or one that is still referenced.
 */
export const isForeignKeyViolation = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "23503";

/** The SQLSTATE or system error of what was thrown; undefined without one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

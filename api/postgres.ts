/** The connections to PostgreSQL, and the faults of it that the API tells apart. */
import postgres from "postgres";

export type Sql = postgres.Sql;

/** A connection within a transaction. */
export type Transaction = postgres.TransactionSql;

/** Rejects a query that waits for longer than this, so that a stuck database becomes a 503. */
const STATEMENT_TIMEOUT_MS = 5_000;

/** Opens a pool of at most `connectionsMax` connections; they are made when first needed. */
export const openPostgres = (url: string, connectionsMax: number): Sql =>
  postgres(url, {
    max: connectionsMax,
    connect_timeout: 2,
    idle_timeout: 60,
    max_lifetime: 30 * 60,
    backoff: () => 0.2,
    onnotice: () => undefined,
    connection: { application_name: "shorthop-api", statement_timeout: STATEMENT_TIMEOUT_MS },
  });

/** Whether the error says that the database cannot be reached, rather than that it refused. */
export function isUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  if (code === undefined) return false;
  // 08: connection exception; 57P01-57P05: shutting down or starting up; 53300: too many clients.
  return (
    /^(08|57P0)/.test(code) ||
    code === "53300" ||
    code === "57014" ||
    ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTFOUND", "ETIMEDOUT"].includes(code) ||
    code.startsWith("CONNECT") ||
    code.startsWith("CONNECTION_")
  );
}

/** Whether the error is a violation of the named unique constraint. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  error instanceof postgres.PostgresError &&
  error.code === "23505" &&
  error.constraint_name === constraint;

/** Whether the error is a reference to a row that is not there, or to one that is still referred to. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "23503";

function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

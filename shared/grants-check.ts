/** Checks the grants of a ClickHouse user. */

/** Names that need no escape within backquotes. */
const DATABASE = /^[\w-]+$/;

/** The error of a server that is too old for CHECK GRANT. */
const UNKNOWN_STATEMENT = /SYNTAX_ERROR/;

/**
 * Throws an error that names the `privileges` that the user lacks on the database of `url`.
 * `queryText` runs a statement and returns its output as text.
 */
export async function requireGrants(
  url: string,
  privileges: readonly string[],
  queryText: (statement: string) => Promise<string>,
): Promise<void> {
  const database = decodeURIComponent(new URL(url).pathname.slice(1)) || "default";
  if (!DATABASE.test(database)) throw new Error(`${database} is no database's name`);
  const missing: string[] = [];
  for (const privilege of privileges) {
    try {
      const output = await queryText(`CHECK GRANT ${privilege} ON \`${database}\`.*`);
      if (!output.includes("1")) missing.push(privilege);
    } catch (error) {
      if (error instanceof Error && UNKNOWN_STATEMENT.test(error.message)) return;
      throw error;
    }
  }
  if (missing.length > 0) throw new Error(`lacks ${missing.join(", ")} on ${database}`);
}

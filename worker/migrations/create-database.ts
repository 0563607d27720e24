/** Creates the ClickHouse database of `CLICKHOUSE_URL` if it does not exist yet. */
import { openClickHouse } from "../clickhouse.ts";

/** The database that every ClickHouse server has, and that a URL without a path means. */
const DEFAULT_DATABASE = "default";

/** A name that needs no escape within backquotes. */
const NAME = /^[\w-]+$/;

/** Does nothing when the database exists; else the user needs the right to create it. */
export async function createDatabaseIfMissing(url: string): Promise<void> {
  const server = new URL(url);
  const database = decodeURIComponent(server.pathname.slice(1));
  if (database === "" || database === DEFAULT_DATABASE) return;
  if (!NAME.test(database)) throw new Error(`CLICKHOUSE_URL: ${database} is no database's name.`);
  server.pathname = `/${DEFAULT_DATABASE}`;
  const client = openClickHouse(server.href);
  try {
    // A user that may not create databases can still migrate one that exists.
    const found = await client.query({
      query: "SELECT name FROM system.databases WHERE name = {database: String}",
      query_params: { database },
      format: "JSONEachRow",
    });
    if ((await found.json()).length > 0) return;
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS \`${database}\`` });
  } finally {
    await client.close();
  }
}

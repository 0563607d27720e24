/** Creates the ClickHouse database that the configuration names. */
import { ConfigError } from "../../shared/env.ts";
import { openClickHouse } from "../clickhouse.ts";

/** A name that needs no quotes. */
const PLAIN_NAME = /^[A-Za-z_]\w{0,63}$/;

/**
 * Creates the database of a URL unless it exists; without one in the URL, ClickHouse's `default` is used. Throws
 * {@link ConfigError} for a name that would need quotes.
 */
export async function ensureDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const name = decodeURIComponent(server.pathname.slice(1));
  if (name === "") return;
  if (!PLAIN_NAME.test(name)) throw new ConfigError(`CLICKHOUSE_URL: invalid database "${name}"`);
  // A request for a database that does not exist is rejected, whatever it says.
  server.pathname = "/";
  const client = openClickHouse(server.href);
  try {
    // A user without the right to create databases may use one that an operator has created.
    const result = await client.query({
      query: "SELECT count() AS found FROM system.databases WHERE name = {name: String}",
      query_params: { name },
      format: "JSONEachRow",
    });
    const [row] = await result.json<{ found: string }>();
    if (Number(row?.found) === 0) {
      await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${name}` });
    }
  } finally {
    await client.close();
  }
}

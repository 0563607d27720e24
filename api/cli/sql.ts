/** SQL statements of the command line. */
import type { Sql } from "../postgres.ts";

/** Creates a database; the user needs the right to. */
export async function createDatabase(sql: Sql, name: string): Promise<void> {
  await sql`create database ${sql(name)}`;
}

/** Drops a database if it exists. */
export async function dropDatabase(sql: Sql, name: string): Promise<void> {
  await sql`drop database if exists ${sql(name)} with (force)`;
}

/** Counts the rows whose loss an operator would notice first. */
export async function countRows(
  sql: Sql,
): Promise<{ accounts: number; links: number; keys: number }> {
  const [row] = await sql<[{ accounts: number; links: number; keys: number }]>`
    select (select count(*)::int from accounts) as accounts,
           (select count(*)::int from links) as links,
           (select count(*)::int from api_keys) as keys`;
  return row;
}

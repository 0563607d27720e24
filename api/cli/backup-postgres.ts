/** Backups of PostgreSQL, by its own pg_dump and pg_restore. */
import { existsSync, readdirSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { databaseOf, hostsOf, withDatabase } from "../../shared/postgres.ts";
import { schemaState } from "../migrations/applied.ts";
import { type Sql, usePostgres } from "../postgres.ts";
import { countRows, createDatabase, dropDatabase } from "./sql.ts";

/**
 * The schema of a restored database is read right after a large write, which can delay the
 * connection.
 */
const CONNECT_TIMEOUT_SECONDS = 30;

const ENDING = ".dump";

/** The database, and the environment in which its programs run. */
export type Database = { url: string; env: Record<string, string | undefined> };

/** Dumps the database; returns the file, named by the time. */
export async function dumpPostgres(
  database: Database,
  dir: string,
  now = new Date(),
): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const name = now.toISOString().slice(0, 19).replaceAll(":", "-");
  const path = join(dir, `${name}Z${ENDING}`);
  const unfinished = `${path}.new`;
  try {
    await runTool(database, ["pg_dump", "--format=custom", `--file=${unfinished}`]);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  return path;
}

/** The dumps in a directory, the oldest first. */
const listDumps = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter((name) => name.endsWith(ENDING))
        .toSorted()
        .map((name) => join(dir, name))
    : [];

/**
 * Deletes dumps that are older than this many days, but never the newest. Returns how many it
 * deleted.
 */
export async function deleteOldDumps(dir: string, days: number, now = Date.now()): Promise<number> {
  const oldest = new Date(now - days * 86_400_000).toISOString().slice(0, 19).replaceAll(":", "-");
  const old = listDumps(dir)
    .slice(0, -1)
    .filter((path) => path < join(dir, oldest));
  for (const path of old) await rm(path);
  return old.length;
}

/**
 * Restores the newest dump into a temporary database, checks its schema, counts its rows and drops
 * it. The user needs the right to create databases.
 */
export async function drillPostgres(
  { url, env }: Database,
  dir: string,
): Promise<Record<string, unknown>> {
  const dump = listDumps(dir).at(-1);
  if (dump === undefined) throw new Error(`There is no dump in ${dir}.`);
  const database = `${databaseOf(url)}_drill`;
  const drill = async (sql: Sql) => {
    await dropDatabase(sql, database);
    await createDatabase(sql, database);
    try {
      const restored = withDatabase(url, database);
      // A drill does not need the owners and privileges, which belong to the cluster.
      const options = ["--exit-on-error", "--no-owner", "--no-privileges", `--dbname=${database}`];
      await runTool({ url: restored, env }, ["pg_restore", ...options, dump]);
      const counts = await usePostgres(restored, inspect, CONNECT_TIMEOUT_SECONDS);
      return { dump, ...counts };
    } finally {
      await dropDatabase(sql, database);
    }
  };
  return await usePostgres(url, drill, CONNECT_TIMEOUT_SECONDS);
}

async function inspect(sql: Sql): Promise<Record<string, unknown>> {
  const schema = await schemaState(sql);
  if (schema !== "ok") throw new Error(`The schema of the restored database: ${schema}`);
  return await countRows(sql);
}

/**
 * Runs a PostgreSQL program on the database of a URL. Passes the password where other users cannot
 * see it.
 */
async function runTool({ url, env }: Database, command: string[]): Promise<void> {
  const { base, hosts } = hostsOf(url);
  const child = Bun.spawn(command, {
    env: {
      ...env,
      PGHOST: hosts.map(({ host }) => host).join(","),
      PGPORT: hosts.map(({ port }) => port).join(","),
      PGUSER: decodeURIComponent(base.username),
      PGPASSWORD: decodeURIComponent(base.password),
      PGDATABASE: databaseOf(url),
      PGTARGETSESSIONATTRS: "primary",
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed.`);
}

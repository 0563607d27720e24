/** Backups of PostgreSQL, by its own pg_dump and pg_restore. */
import { migratePostgres, schemaState } from "../../../api/migrations/migrate.ts";
import { type Sql, usePostgres } from "../../../api/postgres.ts";
import { processLog } from "../../../shared/log.ts";
import { databaseOf, hostsOf, withDatabase } from "../../../shared/postgres.ts";
import type { Env } from "../../installation.ts";
import {
  countAllRows,
  dropDatabase,
  dropSchema,
  exportSnapshot,
  hasProcessRoles,
  makeDatabase,
  readLastMigration,
} from "./sql.ts";
import { type Content, outputOf, type Storage, type StoredFile } from "./storage.ts";

/** The schema is read right after a large write, which can delay the connection. */
const CONNECT_TIMEOUT_SECONDS = 30;

/** The database, and the environment in which its programs run. */
export type Database = { url: string; env: Env };

export type PostgresBackup = {
  file: StoredFile;
  migration: number;
  rows: Record<string, number>;
};

/** Dumps the database. The rows are counted in the snapshot that is dumped. */
export const dumpPostgres = (
  database: Database,
  storage: Storage,
  name: string,
): Promise<PostgresBackup> =>
  usePostgres(
    database.url,
    async (sql) =>
      await sql.begin("isolation level repeatable read read only", async (transaction) => {
        const snapshot = await exportSnapshot(transaction);
        const rows = await countAllRows(transaction);
        const migration = await readLastMigration(transaction);
        const command = ["pg_dump", "--format=custom", `--snapshot=${snapshot}`];
        const file = await storage.write(
          `${name}/postgres.dump`,
          outputOf(command, environmentOf(database)),
        );
        return { file, migration, rows };
      }),
    CONNECT_TIMEOUT_SECONDS,
  );

/**
 * Restores a dump into a database that has no tables, in one transaction, and compares the numbers
 * of rows. Throws when they differ. Returns them.
 */
export async function restorePostgres(
  database: Database,
  storage: Storage,
  { file, rows }: PostgresBackup,
  privileges: "with privileges" | "without privileges",
): Promise<Record<string, number>> {
  const options = ["--exit-on-error", "--single-transaction", "--no-owner"];
  if (privileges === "without privileges") options.push("--no-privileges");
  const command = ["pg_restore", ...options, `--dbname=${databaseOf(database.url)}`];
  await feedTool(database, command, storage.read(file.name));
  const restored = await usePostgres(
    database.url,
    async (sql) => await sql.begin(countAllRows),
    CONNECT_TIMEOUT_SECONDS,
  );
  const wrong = Object.entries(rows).filter(([table, count]) => restored[table] !== count);
  if (wrong.length > 0)
    throw new Error(
      wrong
        .map(([table, count]) => `${table}: ${restored[table] ?? 0} of ${count} rows`)
        .join("\n"),
    );
  return restored;
}

/**
 * Restores a dump into a database that is dropped again, and brings its schema up to date, as after
 * a restore. Throws when either cannot be done. Returns the numbers of rows. The user needs the
 * right to create databases.
 */
export async function drillPostgres(
  { url, env }: Database,
  storage: Storage,
  backup: PostgresBackup,
): Promise<Record<string, number>> {
  const name = `${databaseOf(url)}_drill`;
  const throwAway = { url: withDatabase(url, name), env };
  const work = async (sql: Sql) => {
    await dropDatabase(sql, name);
    await makeDatabase(sql, name);
    try {
      // Privileges belong to the cluster, not to the database.
      const rows = await restorePostgres(throwAway, storage, backup, "without privileges");
      await usePostgres(throwAway.url, bringUpToDate, CONNECT_TIMEOUT_SECONDS);
      return rows;
    } finally {
      await dropDatabase(sql, name);
    }
  };
  return await usePostgres(url, work, CONNECT_TIMEOUT_SECONDS);
}

async function bringUpToDate(sql: Sql): Promise<void> {
  await migratePostgres(sql, processLog("api", "silent"));
  const schema = await schemaState(sql);
  if (schema !== "ok") throw new Error(`The schema of the restored database: ${schema}`);
}

/**
 * Removes the empty tables of a database, so that a dump can make them. Throws when there is
 * anything in them. Returns whether it has the roles of the processes.
 */
export const clearDatabase = (url: string): Promise<boolean> =>
  usePostgres(
    url,
    async (sql) =>
      await sql.begin(async (transaction) => {
        const { accounts = 0, links = 0, users = 0, ...others } = await countAllRows(transaction);
        const isForeign = Object.keys(others).length > 0 && !("schema_migrations" in others);
        if (accounts + links + users > 0 || isForeign)
          throw new Error(
            `The database ${databaseOf(url)} has data, which a restore would replace: drop it, or name another one in DATABASE_URL of migrate.env.`,
          );
        await dropSchema(transaction);
        return await hasProcessRoles(transaction);
      }),
    CONNECT_TIMEOUT_SECONDS,
  );

/** Runs a PostgreSQL program on an input, which it reads as fast as it can use it. */
async function feedTool(database: Database, command: string[], input: Content): Promise<void> {
  const child = Bun.spawn(command, {
    env: environmentOf(database),
    stdio: ["pipe", "inherit", "inherit"],
  });
  try {
    for await (const chunk of input) {
      void child.stdin.write(chunk);
      await child.stdin.flush();
    }
    await child.stdin.end();
  } catch (error) {
    // A program that has failed reads no further: its own message says why.
    if (child.exitCode === null) {
      child.kill();
      throw error;
    }
  }
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed.`);
}

/** The environment of a PostgreSQL program: other users cannot see the password in it. */
function environmentOf({ url, env }: Database): Env {
  const { base, hosts } = hostsOf(url);
  const [mode, authorities] = ["sslmode", "sslrootcert"].map((name) => base.searchParams.get(name));
  return {
    ...env,
    PGHOST: hosts.map(({ host }) => host).join(","),
    PGPORT: hosts.map(({ port }) => port).join(","),
    PGUSER: decodeURIComponent(base.username),
    PGPASSWORD: decodeURIComponent(base.password),
    PGDATABASE: databaseOf(url),
    PGTARGETSESSIONATTRS: "primary",
    ...(authorities == null ? {} : { PGSSLROOTCERT: authorities, PGSSLMODE: "verify-full" }),
    ...(mode == null ? {} : { PGSSLMODE: mode }),
  };
}

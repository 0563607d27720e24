/** Backups of PostgreSQL, by its own pg_dump and pg_restore. */
import { migratePostgres, schemaState } from "../../../api/migrations/migrate.ts";
import type { Sql, Transaction } from "../../../api/postgres.ts";
import { processLog } from "../../../shared/log.ts";
import { databaseOf, hostsOf, withDatabase } from "../../../shared/postgres.ts";
import { type Env, onDatabase } from "../../installation.ts";
import { type Content, outputOf, type Storage, type StoredFile } from "./storage.ts";

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
  onDatabase(database.url, (sql) =>
    sql.begin("isolation level repeatable read read only", async (transaction) => {
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
  const restored = await onDatabase(database.url, (sql) => sql.begin(countAllRows));
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
      await onDatabase(throwAway.url, bringUpToDate);
      return rows;
    } finally {
      await dropDatabase(sql, name);
    }
  };
  return await onDatabase(url, work);
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
  onDatabase(url, (sql) =>
    sql.begin(async (transaction) => {
      const { accounts = 0, links = 0, users = 0, ...others } = await countAllRows(transaction);
      const isForeign = Object.keys(others).length > 0 && !("schema_migrations" in others);
      if (accounts + links + users > 0 || isForeign)
        throw new Error(
          `The database ${databaseOf(url)} has data, which a restore would replace: drop it, or name another one in DATABASE_URL of migrate.env.`,
        );
      await dropSchema(transaction);
      return await hasProcessRoles(transaction);
    }),
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

/** Makes a database, whatever encoding those of the server have; the user needs the right to. */
async function makeDatabase(sql: Sql, name: string): Promise<void> {
  await sql`create database ${sql(name)} template template0 encoding 'UTF8'`;
}

async function dropDatabase(sql: Sql, name: string): Promise<void> {
  await sql`drop database if exists ${sql(name)} with (force)`;
}

/** Exports the transaction's snapshot, which other sessions can read until it ends. */
async function exportSnapshot(sql: Transaction): Promise<string> {
  // The transaction waits for pg_dump, however long that takes.
  await sql`set local idle_in_transaction_session_timeout = 0`;
  const [row] = await sql<[{ snapshot: string }]>`select pg_export_snapshot() as snapshot`;
  return row.snapshot;
}

/** Counts the rows of every table. */
async function countAllRows(sql: Transaction): Promise<Record<string, number>> {
  await sql`set local statement_timeout = 0`;
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
     order by relname`;
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await sql<[{ rows: number }]>`select count(*)::float8 as rows from ${sql(name)}`;
    counts[name] = row.rows;
  }
  return counts;
}

async function readLastMigration(sql: Transaction): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    select coalesce(max(id), 0) as id from schema_migrations`;
  return row.id;
}

/** Whether the roles of the processes exist, to which a dump and `grants.sql` grant privileges. */
export async function hasProcessRoles(sql: Sql | Transaction): Promise<boolean> {
  const [row] = await sql<[{ roles: number }]>`
    select count(*)::int as roles from pg_roles
     where rolname in ('shorthop_api', 'shorthop_worker')`;
  return row.roles === 2;
}

/** Drops all tables, sequences, functions and types of the schema, except those of extensions. */
async function dropSchema(sql: Transaction): Promise<void> {
  const objects = await sql<{ statement: string }[]>`
    with found as (
      select 'pg_class'::regclass as class, oid from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S')
      union all
      select 'pg_proc'::regclass, oid from pg_proc where pronamespace = 'public'::regnamespace
      union all
      select 'pg_type'::regclass, oid from pg_type
       where typnamespace = 'public'::regnamespace and typtype in ('e', 'd')
    )
    select format('drop %s if exists %s cascade', object.type, object.identity) as statement
      from found, pg_identify_object(found.class, found.oid, 0) as object
     where not exists (
       select from pg_depend where deptype = 'e' and classid = found.class and objid = found.oid
     )
     -- Sequences of columns go with their tables.
     order by object.type <> 'table'`;
  for (const { statement } of objects) await sql.unsafe(statement);
}

/** Records when the newest backup of a place was made, and which one a drill has proven. */
export async function recordBackup(
  sql: Sql,
  place: string,
  { madeAt, provenAt }: { madeAt?: Date; provenAt?: Date },
): Promise<void> {
  await sql`
    insert into backups (place, made_at, proven_at)
    values (${place}, ${madeAt ?? null}, ${provenAt ?? null})
    on conflict (place) do update
       set made_at = coalesce(excluded.made_at, backups.made_at),
           proven_at = coalesce(excluded.proven_at, backups.proven_at)`;
}

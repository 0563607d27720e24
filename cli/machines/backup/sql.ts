/** SQL statements of backups. */
import type { Sql, Transaction } from "../../../api/postgres.ts";

/** Makes a database; the user needs the right to. */
export async function makeDatabase(sql: Sql, name: string): Promise<void> {
  await sql`create database ${sql(name)}`;
}

/** Drops a database if it exists. */
export async function dropDatabase(sql: Sql, name: string): Promise<void> {
  await sql`drop database if exists ${sql(name)} with (force)`;
}

/** Exports the transaction's snapshot, which other sessions can read until it ends. */
export async function exportSnapshot(sql: Transaction): Promise<string> {
  // The transaction waits for pg_dump, however long that takes.
  await sql`set local idle_in_transaction_session_timeout = 0`;
  const [row] = await sql<[{ snapshot: string }]>`select pg_export_snapshot() as snapshot`;
  return row.snapshot;
}

/** Counts the rows of every table. */
export async function countAllRows(sql: Transaction): Promise<Record<string, number>> {
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

export async function readLastMigration(sql: Transaction): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    select coalesce(max(id), 0) as id from schema_migrations`;
  return row.id;
}

/** Whether the roles exist to which the dump grants privileges. */
export async function hasProcessRoles(sql: Transaction): Promise<boolean> {
  const [row] = await sql<[{ roles: number }]>`
    select count(*)::int as roles from pg_roles
     where rolname in ('shorthop_api', 'shorthop_worker')`;
  return row.roles === 2;
}

/** Drops all tables, sequences, functions and types of the schema, except those of extensions. */
export async function dropSchema(sql: Transaction): Promise<void> {
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

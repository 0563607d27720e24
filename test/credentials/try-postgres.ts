/**
 * A server of PostgreSQL with the roles that the documented commands make, and tries of what they
 * may do.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import postgres from "postgres";
import * as z from "zod";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { usePostgres } from "../../api/postgres.ts";
import { processLog } from "../../shared/log.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { type PostgresRight, type PostgresUser, tablesOf } from "./postgres-rights.ts";
import type { Attempt } from "./rights.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");
const DOCS = join(import.meta.dir, "../../docs");

const PASSWORD = "password-of-this-test";

/** The superuser, as in Debian and in the image of compose.yaml. */
const SUPERUSER = "postgres";

/** SQLSTATE of a statement, or of a login, for which the role lacks a right. */
const INSUFFICIENT_PRIVILEGE = "42501";

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

export type Roles = {
  /** Tries what a row says as a role. */
  attempt(user: PostgresUser, right: PostgresRight): Promise<Attempt[]>;
  /** The functions that not everybody may call, apart from those of triggers. */
  functions: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Makes the roles with the services `roles` and `grants` of compose.yaml, whose files are also
 * those of the packages.
 */
export async function startRoles(psql: string): Promise<Roles> {
  const server = await startPostgres({ ownServer: true });
  const urlOf = (user: string, password: string, database: string): string => {
    const url = new URL(server.url);
    return Object.assign(url, { username: user, password, pathname: `/${database}` }).href;
  };
  const superuser = await renameSuperuser(server, urlOf);

  const compose = composeSchema.parse(
    Bun.YAML.parse(readFileSync(join(DEPLOY, "docker/compose.yaml"), "utf8")),
  );
  /** Runs a service of compose.yaml that runs a file with psql. */
  function runService(name: string): void {
    const { command = [], environment = {} } = compose.services[name] ?? {};
    const [, ...args] = command.map((word) =>
      word.startsWith("/etc/shorthop/") ? join(DEPLOY, "postgres", basename(word)) : word,
    );
    const env = Object.fromEntries(
      Object.entries(environment).map(([key, value]) => [key, interpolate(value)]),
    );
    const { hostname: PGHOST, port: PGPORT, password } = new URL(superuser);
    const { exitCode, stderr } = Bun.spawnSync([psql, ...args], {
      env: { ...process.env, ...env, PGHOST, PGPORT, PGPASSWORD: decodeURIComponent(password) },
    });
    if (exitCode !== 0) throw new Error(`${name}: ${stderr.toString()}`);
  }

  runService("roles");
  await usePostgres(urlOf("shorthop", PASSWORD, "shorthop"), (sql) =>
    migratePostgres(sql, processLog("test", "silent")),
  );
  runService("grants");
  const admin = open(urlOf(SUPERUSER, new URL(superuser).password, "shorthop"));
  for (const statement of documentedStatements()) await admin.unsafe(statement);
  const columns = await readColumns(admin);

  return {
    functions: await readRestrictedFunctions(admin),
    async attempt(user, right) {
      const on = "on" in right ? right.on : undefined;
      const database = on === "postgres" ? "postgres" : "shorthop";
      const sql = open(urlOf(user, PASSWORD, database), on === "replication");
      const attempts: Attempt[] = [];
      for (const tried of statementsOf(right, columns))
        attempts.push({ tried, refused: await isRefused(sql, tried) });
      await sql.end({ timeout: 1 });
      return attempts;
    },
    async [Symbol.asyncDispose]() {
      await admin.end({ timeout: 1 });
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Compose's interpolation: `${NAME:?}` is a password here, `${NAME:-default}` the default. */
const interpolate = (value: string): string =>
  value.replaceAll(/\$\{\w+:(?:\?|-([^}]*))\}/g, (_, fallback?: string) => fallback ?? PASSWORD);

/**
 * Gives the server's superuser, which the harness calls `shorthop`, its usual name, and drops the
 * database with the tables; returns its URL.
 */
async function renameSuperuser(
  server: TestPostgres,
  urlOf: (user: string, password: string, database: string) => string,
): Promise<string> {
  await server.sql.unsafe(`create role renaming superuser login password '${PASSWORD}'`);
  // Only another role can rename it.
  await usePostgres(urlOf("renaming", PASSWORD, "postgres"), async (sql) => {
    await sql.unsafe("drop database shorthop with (force)");
    await sql.unsafe(`alter role shorthop rename to ${SUPERUSER}`);
  });
  const url = urlOf(SUPERUSER, new URL(server.url).password, "postgres");
  await usePostgres(url, (sql) => sql.unsafe("drop role renaming"));
  return url;
}

/** Further statements about roles that documents have an operator run as the superuser. */
const documentedStatements = (): string[] => [
  findInDocument("three-machines.md", /--command "(CREATE ROLE standby [^"]+)"/),
  findInDocument("operations.md", /--command '(alter role shorthop createdb)'/),
];

function findInDocument(file: string, statement: RegExp): string {
  const [, found] = statement.exec(readFileSync(join(DOCS, file), "utf8")) ?? [];
  if (found === undefined) throw new Error(`${file} does not have ${statement.source}.`);
  return found.replace("$STANDBY_PASSWORD", PASSWORD);
}

/** A column of each table. */
async function readColumns(sql: postgres.Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ table: string; column: string }[]>`
    select table_name as table, min(column_name) as column
      from information_schema.columns where table_schema = 'public' group by 1 order by 1`;
  return new Map(rows.map(({ table, column }) => [table, column]));
}

async function readRestrictedFunctions(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select proname as name from pg_proc
     where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
       and not has_function_privilege('public', oid, 'execute') order by 1`;
  return rows.map(({ name }) => name);
}

/** The statements of a row. `explain` checks rights as the statement does, and changes nothing. */
function statementsOf(right: PostgresRight, columns: ReadonlyMap<string, string>): string[] {
  if ("statements" in right) return [...right.statements];
  const tables = tablesOf(right.tables, [...columns.keys()]);
  if (tables.length === 0) throw new Error(`There is no table for: ${right.what}.`);
  return tables.flatMap((table) => {
    const forms = {
      select: `select 1 from ${table}`,
      insert: `insert into ${table} default values`,
      update: `update ${table} set ${columns.get(table)} = default`,
      delete: `delete from ${table}`,
    };
    return right.privileges.map((privilege) => `explain ${forms[privilege]}`);
  });
}

const open = (url: string, replication = false): postgres.Sql =>
  postgres(url, {
    max: 1,
    connect_timeout: 30,
    fetch_types: false,
    onnotice: () => undefined,
    ...(replication ? { connection: { replication: "true" } } : {}),
  });

/** Whether the server refuses a statement for want of a right; throws any other error. */
async function isRefused(sql: postgres.Sql, statement: string): Promise<boolean> {
  try {
    await sql.unsafe(statement).simple();
    return false;
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code === INSUFFICIENT_PRIVILEGE)
      return true;
    throw new Error(`${statement}: ${String(error)}`, { cause: error });
  }
}

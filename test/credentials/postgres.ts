/**
 * What each role of PostgreSQL may do: tried on a server with the roles that the documented
 * commands make (deploy/postgres, docs/three-machines.md).
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import postgres from "postgres";
import * as z from "zod";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { usePostgres } from "../../api/postgres.ts";
import { processLog } from "../../shared/log.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { readRights, type Right, words } from "./rights.ts";

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

export const POSTGRES_USERS = ["shorthop", "shorthop_api", "shorthop_worker", "standby"] as const;

/** Groups of tables; `rest` are all that are in no other group. */
const TABLE_GROUPS = {
  plans: ["plans", "endpoint_limits", "suspension_rule", "quotas", "plan_quotas"],
  migrations: ["schema_migrations", "backups"],
  counters: ["link_counters"],
  webhooks: ["webhooks"],
  deliveries: ["webhook_deliveries"],
  events: ["events"],
  floors: ["event_floors"],
  cuts: ["event_cuts"],
  heads: ["event_heads"],
  readers: ["event_readers"],
  progress: ["event_progress"],
  clickDays: ["click_event_days"],
  rest: [],
} satisfies Record<string, string[]>;

type TableGroup = keyof typeof TABLE_GROUPS;

/** Privileges on each table of a group; which tables there are is known when the schema is. */
const on = (group: TableGroup, privileges: string): string[] =>
  words(privileges).map((privilege) => `on tables ${group}: ${privilege}`);

const WRITE = "insert update delete";

const select = (...expressions: string[]): string[] => expressions.map((text) => `select ${text}`);

/** What rows try: statements in the database `shorthop` or, `on` another one, there. */
const TRIED = {
  "connect to the database `shorthop`": select("1"),
  "connect to the database `postgres`": ["on postgres: select 1"],
  "read links, accounts, keys, users and all other tables": on("rest", "select"),
  "write them": on("rest", WRITE),
  "read and change the counters of links": on("counters", "select update"),
  "add and delete counters of links": on("counters", "insert delete"),
  "read webhooks": on("webhooks", "select"),
  "add, change and delete webhooks": on("webhooks", WRITE),
  "read, add and change deliveries to webhooks": on("deliveries", "select insert update"),
  "delete deliveries to webhooks": on("deliveries", "delete"),
  "read tags and host of links whose ids one knows": select("* from webhook_links('{}')"),
  "read the plan of an account whose id one knows": select(
    "account_plan('00000000-0000-0000-0000-000000000000')",
  ),
  "read and add events": on("events", "select insert"),
  "change and delete events": on("events", "update delete"),
  "read up to where events are deleted": on("floors", "select"),
  "change up to where events are deleted": on("floors", WRITE),
  "sign up to where events are deleted": ["update event_floors set signature = null where false"],
  "read where erasures have cut the ledger's chains of hashes": on("cuts", "select"),
  "change where erasures have cut them": on("cuts", WRITE),
  "read where the ledger's chains of hashes end": on("heads", "select"),
  "change where they end": on("heads", WRITE),
  "read who reads events of clicks": on("readers", "select"),
  "change who reads events of clicks": on("readers", WRITE),
  "read and move how far clicks are recorded": on("progress", "select update"),
  "add and delete it": on("progress", "insert delete"),
  "record clicks as events, within the day's budget of each account": select(
    "record_click_events('[]', '{}')",
  ),
  "read how much of that budget is spent": on("clickDays", "select"),
  "change how much of it is spent": on("clickDays", WRITE),
  "give events their positions": select(
    "number_events('00000000-0000-0000-0000-000000000000', 'live')",
  ),
  "delete events that are older than a number of days": select("delete_old_events(30, 30, 1)"),
  "read the limits and quotas of plans": on("plans", "select"),
  "change the limits and quotas of plans": on("plans", WRITE),
  "read which migrations are applied, and which backups are proven": on("migrations", "select"),
  "change which are applied and proven": on("migrations", WRITE),
  "draw versions of links": select("next_link_version()", "next_link_versions(2)"),
  "set the sequence of versions back": select("setval('link_version', 1)"),
  "change the schema, empty whole tables": [
    "create table mine ()",
    "create function mine() returns int language sql as 'select 1'",
    "alter table links add column mine text",
    "create index mine_index on links (title)",
    "create trigger mine before update on links for each row execute function count_links()",
    "truncate link_outbox",
  ],
  "create temporary tables": ["create temporary table scratch ()"],
  "create databases": ["create database scratch"],
  "become the owner": ["set role shorthop"],
  "become another role, create or change roles, read passwords": [
    "set role postgres",
    "set role pg_read_all_data",
    "set role pg_execute_server_program",
    "set role pg_read_server_files",
    "set role pg_write_server_files",
    "set role pg_monitor",
    "set role pg_signal_backend",
    "set session authorization postgres",
    "create role mine",
    "alter role shorthop_worker superuser",
    "alter role postgres password 'stolen'",
    "grant pg_read_server_files to shorthop_worker",
    ...select("rolpassword from pg_authid"),
  ],
  "read and write files of the server, and run programs": [
    "copy (select 1) to program 'true'",
    "copy link_counters from '/etc/passwd'",
    "copy (select 1) to '/tmp/of-a-test-of-credentials'",
    ...select("pg_read_file('PG_VERSION')", "pg_ls_dir('.')", "lo_import('/etc/passwd')"),
  ],
  "change the server's settings, stop others' statements": [
    "alter system set work_mem = '64kB'",
    "alter database postgres set work_mem = '64kB'",
    ...select(
      "pg_reload_conf()",
      "pg_rotate_logfile()",
      "pg_stat_reset()",
      "pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
    ),
  ],
  "replicate the whole server": ["on replication: IDENTIFY_SYSTEM"],
};

export type Roles = {
  rights: readonly Right[];
  /** The functions that not everybody may call, apart from those of triggers. */
  functions: readonly string[];
  /** Tries all rows as a role; resolves to what the server refused. */
  attempt(user: string): Promise<ReadonlySet<string>>;
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

  const rights = readRights("## PostgreSQL", POSTGRES_USERS, TRIED).map((right) => ({
    ...right,
    tried: right.tried.flatMap((tried) => explainOn(tried, columns)),
  }));

  return {
    rights,
    functions: await readRestrictedFunctions(admin),
    async attempt(user) {
      const refused = new Set<string>();
      for (const { tried } of rights) {
        const [, where] = /^on (postgres|replication): /.exec(tried[0] ?? "") ?? [];
        const database = where === "postgres" ? "postgres" : "shorthop";
        const sql = open(urlOf(user, PASSWORD, database), where === "replication");
        for (const one of tried)
          if (await isRefused(sql, one.replace(/^on \w+: /, ""))) refused.add(one);
        await sql.end({ timeout: 1 });
      }
      return refused;
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

/**
 * The statements of a privilege on a group of tables; others are as they are. `explain` checks
 * rights as the statement does, and changes nothing.
 */
function explainOn(tried: string, columns: ReadonlyMap<string, string>): string[] {
  const [, group, privilege = ""] = /^on tables (\w+): (\w+)$/.exec(tried) ?? [];
  if (group === undefined) return [tried];
  const grouped = new Set<string>(Object.values(TABLE_GROUPS).flat());
  const own = Object.entries(TABLE_GROUPS).find(([name]) => name === group)?.[1] ?? [];
  const tables = group === "rest" ? [...columns.keys()].filter((name) => !grouped.has(name)) : own;
  if (tables.some((table) => !columns.has(table)))
    throw new Error(`There is no table of ${group}.`);
  return tables.map((table) => {
    const forms: Record<string, string> = {
      select: `select 1 from ${table}`,
      insert: `insert into ${table} default values`,
      update: `update ${table} set ${columns.get(table)} = default`,
      delete: `delete from ${table}`,
    };
    return `explain ${forms[privilege]}`;
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

/**
 * Goal: each role of PostgreSQL may do what docs/credentials.md says, and nothing else. Method: all
 * is tried on a server with the roles that the documented commands make: the services `roles` and
 * `grants` of compose.yaml, whose files are also those of the packages (deploy/postgres,
 * docs/three-machines.md).
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import postgres from "postgres";
import * as z from "zod";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { usePostgres } from "../../api/postgres.ts";
import { processLog } from "../../shared/log.ts";
import { findDeviations, readRights, type Right, words } from "../credentials/rights.ts";
import { forFile } from "../harness/for-file.ts";
import { run } from "../harness/packed-client.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";

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

const USERS = ["shorthop", "shorthop_api", "shorthop_worker", "standby"] as const;

/** Groups of tables; `rest` are all that are in no other group. */
const TABLE_GROUPS = {
  plans: ["plans", "endpoint_limits", "quotas", "plan_quotas"],
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

const urlAs = (at: string, username: string, password: string, database: string): string =>
  Object.assign(new URL(at), { username, password, pathname: `/${database}` }).href;

/** A server with the roles, and what is tried. */
class Roles implements AsyncDisposable {
  readonly rights: readonly Right[];
  readonly #server: TestPostgres;
  readonly #admin: postgres.Sql;

  static async start(psql: string): Promise<Roles> {
    const server = await startPostgres({ ownServer: true });
    const superuser = await renameSuperuser(server);
    runService(psql, "roles", superuser);
    await usePostgres(urlAs(superuser, "shorthop", PASSWORD, "shorthop"), (sql) =>
      migratePostgres(sql, processLog("test", "silent")),
    );
    runService(psql, "grants", superuser);
    const admin = open(Object.assign(new URL(superuser), { pathname: "/shorthop" }).href);
    for (const statement of documentedStatements()) await admin.unsafe(statement);
    return new Roles(server, admin, await readColumns(admin));
  }

  private constructor(
    server: TestPostgres,
    admin: postgres.Sql,
    columns: ReadonlyMap<string, string>,
  ) {
    this.#server = server;
    this.#admin = admin;
    this.rights = readRights("## PostgreSQL", USERS, TRIED).map((right) => ({
      ...right,
      tried: right.tried.flatMap((tried) => explainOn(tried, columns)),
    }));
  }

  /** Tries all rows as a role; resolves to what the server refused. */
  async attempt(user: string): Promise<ReadonlySet<string>> {
    const refused = new Set<string>();
    for (const { tried } of this.rights) {
      const [, where] = /^on (postgres|replication): /.exec(tried[0] ?? "") ?? [];
      const database = where === "postgres" ? "postgres" : "shorthop";
      const url = urlAs(this.#server.url, user, PASSWORD, database);
      const sql = open(url, where === "replication");
      for (const one of tried)
        if (await isRefused(sql, one.replace(/^on \w+: /, ""))) refused.add(one);
      await sql.end({ timeout: 1 });
    }
    return refused;
  }

  /** The functions that not everybody may call, apart from those of triggers. */
  async readRestrictedFunctions(): Promise<string[]> {
    const rows = await this.#admin<{ name: string }[]>`
      select proname as name from pg_proc
       where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
         and not has_function_privilege('public', oid, 'execute') order by 1`;
    return rows.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin.end({ timeout: 1 });
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Runs a service of compose.yaml that runs a file with psql. */
function runService(psql: string, name: string, superuser: string): void {
  const compose = Bun.YAML.parse(readFileSync(join(DEPLOY, "docker/compose.yaml"), "utf8"));
  const { command = [], environment = {} } = composeSchema.parse(compose).services[name] ?? {};
  const [, ...args] = command.map((word) =>
    word.startsWith("/etc/shorthop/") ? join(DEPLOY, "postgres", basename(word)) : word,
  );
  const env = Object.fromEntries(
    Object.entries(environment).map(([key, value]) => [key, interpolate(value)]),
  );
  const { hostname: PGHOST, port: PGPORT, password } = new URL(superuser);
  const login = { PGHOST, PGPORT, PGPASSWORD: decodeURIComponent(password) };
  run([psql, ...args], DEPLOY, { ...env, ...login });
}

/** Compose's interpolation: `${NAME:?}` is a password here, `${NAME:-default}` the default. */
const interpolate = (value: string): string =>
  value.replaceAll(/\$\{\w+:(?:\?|-([^}]*))\}/g, (_, fallback?: string) => fallback ?? PASSWORD);

/**
 * Gives the server's superuser, which the harness calls `shorthop`, its usual name, and drops the
 * database with the tables; returns its URL.
 */
async function renameSuperuser(server: TestPostgres): Promise<string> {
  await server.sql.unsafe(`create role renaming superuser login password '${PASSWORD}'`);
  // Only another role can rename it.
  await usePostgres(urlAs(server.url, "renaming", PASSWORD, "postgres"), async (sql) => {
    await sql.unsafe("drop database shorthop with (force)");
    await sql.unsafe(`alter role shorthop rename to ${SUPERUSER}`);
  });
  const url = urlAs(server.url, SUPERUSER, new URL(server.url).password, "postgres");
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

const psql = Bun.which("psql");
if (psql === null) console.warn("\n!!! psql is not installed: roles and grants are NOT TESTED\n");
const roles = psql === null ? undefined : await forFile(Roles.start(psql));

test.skipIf(roles === undefined).each(USERS)(
  "the role %s may do what the page says, and no more",
  async (user) => {
    const refused = await roles?.attempt(user);
    expect(findDeviations(user, roles?.rights ?? [], refused ?? new Set())).toEqual([]);
  },
);

test.skipIf(roles === undefined)(
  "the page says of every function that not everybody may call who may",
  async () => {
    const tried = roles?.rights.flatMap((right) => right.tried) ?? [];
    const functions = (await roles?.readRestrictedFunctions()) ?? [];
    expect(functions.length).toBeGreaterThan(0);
    expect(functions.filter((name) => !tried.some((text) => text.includes(`${name}(`)))).toEqual(
      [],
    );
  },
);

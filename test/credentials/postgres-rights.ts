/**
 * What each role of PostgreSQL may do, with the commands of the documents (deploy/postgres,
 * docs/three-machines.md).
 */
import type { Right } from "./rights.ts";

export const POSTGRES_USERS = ["shorthop", "shorthop_api", "shorthop_worker", "standby"] as const;

export type PostgresUser = (typeof POSTGRES_USERS)[number];

type Privilege = "select" | "insert" | "update" | "delete";

/**
 * What is tried: privileges on each table of a group, or statements in the database `shorthop` or
 * another one.
 */
export type PostgresRight = Right<PostgresUser> &
  (
    | { tables: TableGroup; privileges: readonly Privilege[] }
    | { statements: readonly string[]; on?: "postgres" | "replication" }
  );

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
} as const;

type TableGroup = keyof typeof TABLE_GROUPS | "rest";

/** The tables of a group, of all that there are. */
export function tablesOf(group: TableGroup, all: readonly string[]): string[] {
  const grouped = new Set<string>(Object.values(TABLE_GROUPS).flat());
  if (group === "rest") return all.filter((table) => !grouped.has(table));
  const tables: readonly string[] = TABLE_GROUPS[group];
  return all.filter((table) => tables.includes(table));
}

const OWNER = "shorthop";
const API = "shorthop_api";
const WORKER = "shorthop_worker";
const BOTH = [OWNER, API] as const;
const ALL = [OWNER, API, WORKER] as const;

const READ = ["select"] as const;
const WRITE = ["insert", "update", "delete"] as const;

/** Rows about the tables of a group. */
const on = (
  tables: TableGroup,
  ...rows: [what: string, readonly Privilege[], may: readonly PostgresUser[], why: string][]
): PostgresRight[] =>
  rows.map(([what, privileges, may, why]) => ({ what, tables, privileges, may, why }));

/** A row about statements. */
const run = (
  what: string,
  statements: readonly string[],
  may: readonly PostgresUser[],
  why = "",
  on?: "postgres" | "replication",
): PostgresRight => ({ what, statements, may, why, ...(on === undefined ? {} : { on }) });

const select = (...expressions: string[]): string[] => expressions.map((text) => `select ${text}`);

export const POSTGRES_RIGHTS: readonly PostgresRight[] = [
  run("connect to the database `shorthop`", select("1"), ALL, "it is theirs"),
  run(
    "connect to the database `postgres`",
    select("1"),
    POSTGRES_USERS,
    "PostgreSQL's default; there is nothing in it",
    "postgres",
  ),
  ...on(
    "rest",
    ["read links, accounts, keys, users and all other tables", READ, BOTH, "the API's own"],
    ["write them", WRITE, BOTH, "the API's own"],
  ),
  ...on(
    "counters",
    [
      "read and change the counters of links",
      ["select", "update"],
      ALL,
      "workers count; the API shows counts",
    ],
    ["add and delete counters of links", ["insert", "delete"], BOTH, "with the link"],
  ),
  ...on(
    "webhooks",
    [
      "read webhooks",
      READ,
      ALL,
      "workers deliver to them; what their secrets are derived from is not in the database",
    ],
    [
      "add, change and delete webhooks",
      WRITE,
      BOTH,
      "the API's own; workers change only how far they are and whether they are disabled",
    ],
  ),
  ...on(
    "deliveries",
    [
      "read, add and change deliveries to webhooks",
      ["select", "insert", "update"],
      ALL,
      "workers make them; the API lists and retries them",
    ],
    ["delete deliveries to webhooks", ["delete"], BOTH, "with their webhook, and after 30 days"],
  ),
  run(
    "read tags and host of links whose ids one knows",
    select("* from webhook_links('{}')"),
    [OWNER, WORKER],
    "a webhook can be for some tags or domains",
  ),
  run(
    "read the plan of an account whose id one knows",
    select("account_plan('00000000-0000-0000-0000-000000000000')"),
    [OWNER, WORKER],
    "it decides how many deliveries are made",
  ),
  ...on(
    "events",
    ["read and add events", ["select", "insert"], ALL, "changes are recorded, and clicks"],
    [
      "change and delete events",
      ["update", "delete"],
      [OWNER],
      "no process can remove from the ledger what it did",
    ],
  ),
  ...on(
    "floors",
    ["read up to where events are deleted", READ, BOTH, "a reader who has missed some is told so"],
    ["change that", WRITE, [OWNER], "the function that deletes does"],
  ),
  run(
    "sign up to where events are deleted",
    ["update event_floors set signature = null where false"],
    BOTH,
    "the API has the key, and has just deleted them",
  ),
  ...on(
    "cuts",
    [
      "read where erasures have cut the ledger's chains of hashes",
      READ,
      BOTH,
      "whoever verifies them does",
    ],
    ["change that", WRITE, [OWNER], "`shorthop accounts erase` does"],
  ),
  ...on(
    "heads",
    ["read where the ledger's chains of hashes end", READ, BOTH, "whoever verifies them does"],
    ["change that", WRITE, [OWNER], "the function that numbers events does"],
  ),
  ...on(
    "readers",
    ["read who reads events of clicks", READ, ALL, "others' clicks are not recorded"],
    ["change that", WRITE, BOTH, "with each read"],
  ),
  ...on(
    "progress",
    [
      "read and move how far clicks are recorded",
      ["select", "update"],
      ALL,
      "the next worker goes on there; the API notes which links have expired",
    ],
    [
      "add and delete it",
      ["insert", "delete"],
      BOTH,
      "migrations do; the API may write all tables that are not named here",
    ],
  ),
  run(
    "record clicks as events, within the day's budget of each account",
    select("record_click_events('[]', '{}')"),
    [OWNER, WORKER],
    "workers do",
  ),
  ...on(
    "clickDays",
    ["read how much of that budget is spent", READ, BOTH, "the API may read every table"],
    ["change that", WRITE, [OWNER], "that function does"],
  ),
  run(
    "give events their positions",
    select("number_events('00000000-0000-0000-0000-000000000000', 'live')"),
    ALL,
    "readers do",
  ),
  run(
    "delete events that are older than a number of days",
    select("delete_old_events(30, 30, 1)"),
    BOTH,
    "their retention; never those of the last day",
  ),
  ...on(
    "plans",
    ["read the limits and quotas of plans", READ, BOTH, "the API applies them"],
    ["change the limits and quotas of plans", WRITE, [OWNER], "migrations do"],
  ),
  ...on(
    "migrations",
    [
      "read which migrations are applied, and which backups are proven",
      READ,
      BOTH,
      "`shorthop doctor`, metrics",
    ],
    ["change that", WRITE, [OWNER], "migrations and backups do"],
  ),
  run(
    "draw versions of links",
    [...select("next_link_version()"), ...select("next_link_versions(2)")],
    BOTH,
    "each change of a link has one",
  ),
  run(
    "set the sequence of versions back",
    select("setval('link_version', 1)"),
    [OWNER],
    "it owns everything in the database",
  ),
  run(
    "change the schema, empty whole tables",
    [
      "create table mine ()",
      "create function mine() returns int language sql as 'select 1'",
      "alter table links add column mine text",
      "create index mine_index on links (title)",
      "create trigger mine before update on links for each row execute function count_links()",
      "truncate link_outbox",
    ],
    [OWNER],
    "migrations do",
  ),
  run(
    "create temporary tables",
    ["create temporary table scratch ()"],
    [OWNER],
    "it owns the database",
  ),
  run(
    "create databases",
    ["create database scratch"],
    [OWNER],
    "only after the command of [backup and restore](operations.md#backup-and-restore), for the drill",
  ),
  run("become the owner", ["set role shorthop"], [OWNER], "it is the owner"),
  run(
    "become another role, create or change roles, read passwords",
    [
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
    [],
  ),
  run(
    "read and write files of the server, and run programs",
    [
      "copy (select 1) to program 'true'",
      "copy link_counters from '/etc/passwd'",
      "copy (select 1) to '/tmp/of-a-test-of-credentials'",
      ...select("pg_read_file('PG_VERSION')", "pg_ls_dir('.')", "lo_import('/etc/passwd')"),
    ],
    [],
  ),
  run(
    "change the server's settings, stop others' statements",
    [
      "alter system set work_mem = '64kB'",
      "alter database postgres set work_mem = '64kB'",
      ...select(
        "pg_reload_conf()",
        "pg_rotate_logfile()",
        "pg_stat_reset()",
        "pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
      ),
    ],
    [],
  ),
  run(
    "replicate the whole server",
    ["IDENTIFY_SYSTEM"],
    ["standby"],
    "the standby of [three machines](three-machines.md) copies it: this password is worth all tables",
    "replication",
  ),
];

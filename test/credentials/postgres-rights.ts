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

const select = (...expressions: string[]): string[] => expressions.map((text) => `select ${text}`);

export const POSTGRES_RIGHTS: readonly PostgresRight[] = [
  {
    what: "connect to the database `shorthop`",
    statements: select("1"),
    may: [OWNER, API, WORKER],
    why: "it is theirs",
  },
  {
    what: "connect to the database `postgres`",
    statements: select("1"),
    on: "postgres",
    may: POSTGRES_USERS,
    why: "PostgreSQL's default; there is nothing in it",
  },
  {
    what: "read links, accounts, keys, users and all other tables",
    tables: "rest",
    privileges: ["select"],
    may: [OWNER, API],
    why: "the API's own",
  },
  {
    what: "write them",
    tables: "rest",
    privileges: ["insert", "update", "delete"],
    may: [OWNER, API],
    why: "the API's own",
  },
  {
    what: "read and change the counters of links",
    tables: "counters",
    privileges: ["select", "update"],
    may: [OWNER, API, WORKER],
    why: "workers count; the API shows counts",
  },
  {
    what: "add and delete counters of links",
    tables: "counters",
    privileges: ["insert", "delete"],
    may: [OWNER, API],
    why: "with the link",
  },
  {
    what: "read webhooks",
    tables: "webhooks",
    privileges: ["select"],
    may: [OWNER, API, WORKER],
    why: "workers deliver to them; what their secrets are derived from is not in the database",
  },
  {
    what: "add, change and delete webhooks",
    tables: "webhooks",
    privileges: ["insert", "update", "delete"],
    may: [OWNER, API],
    why: "the API's own; workers change only how far they are and whether they are disabled",
  },
  {
    what: "read, add and change deliveries to webhooks",
    tables: "deliveries",
    privileges: ["select", "insert", "update"],
    may: [OWNER, API, WORKER],
    why: "workers make them; the API lists and retries them",
  },
  {
    what: "delete deliveries to webhooks",
    tables: "deliveries",
    privileges: ["delete"],
    may: [OWNER, API],
    why: "with their webhook, and after 30 days",
  },
  {
    what: "read tags and host of links whose ids one knows",
    statements: select("* from webhook_links('{}')"),
    may: [OWNER, WORKER],
    why: "a webhook can be for some tags or domains",
  },
  {
    what: "read the plan of an account whose id one knows",
    statements: select("account_plan('00000000-0000-0000-0000-000000000000')"),
    may: [OWNER, WORKER],
    why: "it decides how many deliveries are made",
  },
  {
    what: "read and add events",
    tables: "events",
    privileges: ["select", "insert"],
    may: [OWNER, API, WORKER],
    why: "changes are recorded, and clicks",
  },
  {
    what: "change and delete events",
    tables: "events",
    privileges: ["update", "delete"],
    may: [OWNER],
    why: "no process can remove from the ledger what it did",
  },
  {
    what: "read up to where events are deleted",
    tables: "floors",
    privileges: ["select"],
    may: [OWNER, API],
    why: "a reader who has missed some is told so",
  },
  {
    what: "change that",
    tables: "floors",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "the function that deletes does",
  },
  {
    what: "sign up to where events are deleted",
    statements: ["update event_floors set signature = null where false"],
    may: [OWNER, API],
    why: "the API has the key, and has just deleted them",
  },
  {
    what: "read where erasures have cut the ledger's chains of hashes",
    tables: "cuts",
    privileges: ["select"],
    may: [OWNER, API],
    why: "whoever verifies them does",
  },
  {
    what: "change that",
    tables: "cuts",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "`shorthop accounts erase` does",
  },
  {
    what: "read where the ledger's chains of hashes end",
    tables: "heads",
    privileges: ["select"],
    may: [OWNER, API],
    why: "whoever verifies them does",
  },
  {
    what: "change that",
    tables: "heads",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "the function that numbers events does",
  },
  {
    what: "read who reads events of clicks",
    tables: "readers",
    privileges: ["select"],
    may: [OWNER, API, WORKER],
    why: "others' clicks are not recorded",
  },
  {
    what: "change that",
    tables: "readers",
    privileges: ["insert", "update", "delete"],
    may: [OWNER, API],
    why: "with each read",
  },
  {
    what: "read and move how far clicks are recorded",
    tables: "progress",
    privileges: ["select", "update"],
    may: [OWNER, API, WORKER],
    why: "the next worker goes on there; the API notes which links have expired",
  },
  {
    what: "add and delete it",
    tables: "progress",
    privileges: ["insert", "delete"],
    may: [OWNER, API],
    why: "migrations do; the API may write all tables that are not named here",
  },
  {
    what: "record clicks as events, within the day's budget of each account",
    statements: select("record_click_events('[]', '{}')"),
    may: [OWNER, WORKER],
    why: "workers do",
  },
  {
    what: "read how much of that budget is spent",
    tables: "clickDays",
    privileges: ["select"],
    may: [OWNER, API],
    why: "the API may read every table",
  },
  {
    what: "change that",
    tables: "clickDays",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "that function does",
  },
  {
    what: "give events their positions",
    statements: select("number_events('00000000-0000-0000-0000-000000000000', 'live')"),
    may: [OWNER, API, WORKER],
    why: "readers do",
  },
  {
    what: "delete events that are older than a number of days",
    statements: select("delete_old_events(30, 30, 1)"),
    may: [OWNER, API],
    why: "their retention; never those of the last day",
  },
  {
    what: "read the limits and quotas of plans",
    tables: "plans",
    privileges: ["select"],
    may: [OWNER, API],
    why: "the API applies them",
  },
  {
    what: "change the limits and quotas of plans",
    tables: "plans",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "migrations do",
  },
  {
    what: "read which migrations are applied, and which backups are proven",
    tables: "migrations",
    privileges: ["select"],
    may: [OWNER, API],
    why: "`shorthop doctor`, metrics",
  },
  {
    what: "change that",
    tables: "migrations",
    privileges: ["insert", "update", "delete"],
    may: [OWNER],
    why: "migrations and backups do",
  },
  {
    what: "draw versions of links",
    statements: [...select("next_link_version()"), ...select("next_link_versions(2)")],
    may: [OWNER, API],
    why: "each change of a link has one",
  },
  {
    what: "set the sequence of versions back",
    statements: select("setval('link_version', 1)"),
    may: [OWNER],
    why: "it owns everything in the database",
  },
  {
    what: "change the schema, empty whole tables",
    statements: [
      "create table mine ()",
      "create function mine() returns int language sql as 'select 1'",
      "alter table links add column mine text",
      "create index mine_index on links (title)",
      "create trigger mine before update on links for each row execute function count_links()",
      "truncate link_outbox",
    ],
    may: [OWNER],
    why: "migrations do",
  },
  {
    what: "create temporary tables",
    statements: ["create temporary table scratch ()"],
    may: [OWNER],
    why: "it owns the database",
  },
  {
    what: "create databases",
    statements: ["create database scratch"],
    may: [OWNER],
    why: "only after the command of [backup and restore](operations.md#backup-and-restore), for the drill",
  },
  {
    what: "become the owner",
    statements: ["set role shorthop"],
    may: [OWNER],
    why: "it is the owner",
  },
  {
    what: "become another role, create or change roles, read passwords",
    statements: [
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
    may: [],
    why: "",
  },
  {
    what: "read and write files of the server, and run programs",
    statements: [
      "copy (select 1) to program 'true'",
      "copy link_counters from '/etc/passwd'",
      "copy (select 1) to '/tmp/of-a-test-of-credentials'",
      ...select("pg_read_file('PG_VERSION')", "pg_ls_dir('.')", "lo_import('/etc/passwd')"),
    ],
    may: [],
    why: "",
  },
  {
    what: "change the server's settings, stop others' statements",
    statements: [
      "alter system set work_mem = '64kB'",
      "alter database postgres set work_mem = '64kB'",
      ...select(
        "pg_reload_conf()",
        "pg_rotate_logfile()",
        "pg_stat_reset()",
        "pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
      ),
    ],
    may: [],
    why: "",
  },
  {
    what: "replicate the whole server",
    statements: ["IDENTIFY_SYSTEM"],
    on: "replication",
    may: ["standby"],
    why: "the standby of [three machines](three-machines.md) copies it: this password is worth all tables",
  },
];

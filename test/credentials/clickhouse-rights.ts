/** What each user of ClickHouse may do (deploy/clickhouse/users.xml). */
import type { Right } from "./rights.ts";

export const CLICKHOUSE_USERS = ["api", "worker", "owner"] as const;

export type ClickHouseUser = (typeof CLICKHOUSE_USERS)[number];

/** Who may, may run all statements; who may not, none. */
export type ClickHouseRight = Right<ClickHouseUser> & { statements: readonly string[] };

/** What an administrator makes before, for users to try. */
export const VICTIMS = [
  "CREATE TABLE IF NOT EXISTS default.victim (a UInt8) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE IF NOT EXISTS shorthop.victim (at DateTime, a UInt8, b UInt8) ENGINE = MergeTree ORDER BY a",
  "CREATE VIEW IF NOT EXISTS shorthop.victim_view AS SELECT 1 AS a",
];

/** A table function that opens a file or a connection, with its arguments. */
const from = (source: string): string => `SELECT * FROM ${source}`;

export const CLICKHOUSE_RIGHTS: readonly ClickHouseRight[] = [
  {
    what: "read clicks, rollups and all other tables of the database `shorthop`",
    statements: ["clicks", "clicks_1d", "failures", "batches", "schema_migrations"].map(
      (table) => `SELECT count() FROM shorthop.${table}`,
    ),
    may: CLICKHOUSE_USERS,
    why: "analytics; checks of what is stored; backups",
  },
  {
    what: "see the tables of the database, with their settings",
    statements: ["SELECT engine_full FROM system.tables WHERE database = 'shorthop'"],
    may: CLICKHOUSE_USERS,
    why: "how long clicks are retained",
  },
  {
    what: "insert into them",
    statements: [
      "INSERT INTO shorthop.rollup_repairs (id, state, range_from, range_to, rebuilt) " +
        "SELECT generateUUIDv4(), 'requested', 0, 1, 0",
      "INSERT INTO shorthop.victim SELECT now(), 1, 1",
    ],
    may: ["worker", "owner"],
    why: "workers store clicks and repair rollups; the owner restores backups",
  },
  {
    what: "queries of more than 10 s and 2 GiB, and those that lift such limits",
    statements: [
      "SELECT 1 SETTINGS readonly = 0",
      "SELECT 1 SETTINGS max_execution_time = 3600",
      "SELECT 1 SETTINGS max_execution_time = 0",
      "SELECT 1 SETTINGS max_memory_usage = 0",
      "SELECT 1 SETTINGS max_memory_usage = 4000000000",
    ],
    may: ["worker", "owner"],
    why: "inserts, comparisons, migrations",
  },
  {
    what: "create the database and its tables, and change their columns and their retention",
    statements: [
      "CREATE DATABASE IF NOT EXISTS shorthop",
      "CREATE TABLE shorthop.mine (a UInt8) ENGINE = MergeTree ORDER BY a",
      "CREATE VIEW shorthop.mine_view AS SELECT 1 AS a",
      "CREATE MATERIALIZED VIEW shorthop.mine_sums TO shorthop.mine AS SELECT a FROM shorthop.victim",
      "ALTER TABLE shorthop.victim ADD COLUMN c UInt8",
      "ALTER TABLE shorthop.victim MODIFY TTL at + INTERVAL 1 DAY",
      "ALTER TABLE shorthop.victim UPDATE b = 2 WHERE 1 SETTINGS mutations_sync = 2",
    ],
    may: ["owner"],
    why: "`shorthop migrate`; the drill of a backup restores into a table of its own",
  },
  {
    what: "delete rows and partitions",
    statements: [
      "DELETE FROM shorthop.victim WHERE b = 2",
      "ALTER TABLE shorthop.victim DELETE WHERE b = 2 SETTINGS mutations_sync = 2",
      "ALTER TABLE shorthop.victim DROP PARTITION tuple()",
    ],
    may: ["owner"],
    why: "`shorthop import undo` and `accounts erase` delete clicks",
  },
  {
    what: "empty and drop tables",
    statements: [
      "TRUNCATE TABLE shorthop.victim",
      "DROP VIEW shorthop.victim_view",
      "DROP TABLE shorthop.victim",
    ],
    may: ["owner"],
    why: "migrations replace tables",
  },
  {
    what: "merge, freeze or change the storage of tables, drop the database",
    statements: [
      "ALTER TABLE shorthop.clicks FREEZE",
      "ALTER TABLE shorthop.clicks MODIFY SETTING merge_with_ttl_timeout = 1",
      "OPTIMIZE TABLE shorthop.clicks FINAL",
      "DROP DATABASE shorthop",
    ],
    may: [],
    why: "",
  },
  {
    what: "other databases, and what the server knows of users",
    statements: [
      "SELECT * FROM default.victim",
      "INSERT INTO default.victim SELECT 1",
      "CREATE TABLE default.mine (a UInt8) ENGINE = Memory",
      "CREATE DATABASE other",
      "SELECT name FROM system.users",
    ],
    may: [],
    why: "",
  },
  {
    what: "files, URLs, other servers",
    statements: [
      from("file('/etc/passwd', 'LineAsString', 'a String')"),
      from("url('http://127.0.0.1:9/', 'CSV', 'a String')"),
      from("remote('127.0.0.1:9', 'system', 'one')"),
      from("s3('http://127.0.0.1:9/bucket/a', 'CSV', 'a String')"),
      "INSERT INTO FUNCTION file('of-a-test', 'CSV', 'a String') SELECT 'x'",
      "CREATE TABLE shorthop.mine_url (a String) ENGINE = URL('http://127.0.0.1:9/', 'CSV')",
    ],
    may: [],
    why: "",
  },
  {
    what: "users, grants, functions, dictionaries, the server itself",
    statements: [
      "CREATE USER mine",
      "CREATE ROLE mine",
      "GRANT SELECT ON *.* TO default",
      "CREATE FUNCTION mine AS (a) -> a",
      "CREATE NAMED COLLECTION mine AS url = 'http://127.0.0.1:9/'",
      "CREATE DICTIONARY shorthop.mine_dictionary (a UInt64) PRIMARY KEY a " +
        "SOURCE(HTTP(url 'http://127.0.0.1:9/' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
      "SYSTEM STOP MERGES shorthop.clicks",
      "SYSTEM DROP MARK CACHE",
    ],
    may: [],
    why: "",
  },
];

/**
 * Goal: each user of deploy/clickhouse/users.xml may do what docs/credentials.md says, and nothing
 * else. Method: all is tried. The engine of the local stack is a library without logins: its only
 * user, `default`, gets the grants, the profile and the quota of each in turn.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { configure, Engine } from "../../deploy/local/clickhouse/engine.ts";
import { Gateway } from "../../deploy/local/clickhouse/gateway.ts";
import { processLog } from "../../shared/log.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { migrateClickHouse } from "../../worker/migrations/migrate.ts";
import { findDeviations, readRights, type Right, words } from "../credentials/rights.ts";
import { dirForFile } from "../harness/for-file.ts";

const dir = dirForFile("shorthop-credentials-");

const CLICKHOUSE_USERS = ["api", "worker", "owner"] as const;

/** What an administrator makes before, for users to try. */
const VICTIMS = [
  "CREATE TABLE IF NOT EXISTS default.victim (a UInt8) ENGINE = MergeTree ORDER BY a",
  "CREATE TABLE IF NOT EXISTS shorthop.victim (at DateTime, a UInt8, b UInt8) ENGINE = MergeTree ORDER BY a",
  "CREATE VIEW IF NOT EXISTS shorthop.victim_view AS SELECT 1 AS a",
];

/** A table function that opens a file or a connection, with its arguments. */
const from = (source: string): string => `SELECT * FROM ${source}`;

const CLICKHOUSE_RIGHTS: readonly Right[] = readRights("## ClickHouse", CLICKHOUSE_USERS, {
  "read clicks, rollups and all other tables of the database `shorthop`": words(
    "clicks clicks_1d failures batches schema_migrations",
  ).map((table) => `SELECT count() FROM shorthop.${table}`),
  "see the tables of the database, with their settings": [
    "SELECT engine_full FROM system.tables WHERE database = 'shorthop'",
  ],
  "insert into them": [
    "INSERT INTO shorthop.rollup_repairs (id, state, range_from, range_to, rebuilt) SELECT generateUUIDv4(), 'requested', 0, 1, 0",
    "INSERT INTO shorthop.victim SELECT now(), 1, 1",
  ],
  "queries of more than 10 s and 2 GiB, and those that lift such limits": [
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1 SETTINGS max_execution_time = 3600",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT 1 SETTINGS max_memory_usage = 0",
    "SELECT 1 SETTINGS max_memory_usage = 4000000000",
  ],
  "create the database and its tables, and change their columns and their retention": [
    "CREATE DATABASE IF NOT EXISTS shorthop",
    "CREATE TABLE shorthop.mine (a UInt8) ENGINE = MergeTree ORDER BY a",
    "CREATE VIEW shorthop.mine_view AS SELECT 1 AS a",
    "CREATE MATERIALIZED VIEW shorthop.mine_sums TO shorthop.mine AS SELECT a FROM shorthop.victim",
    "ALTER TABLE shorthop.victim ADD COLUMN c UInt8",
    "ALTER TABLE shorthop.victim MODIFY TTL at + INTERVAL 1 DAY",
    "ALTER TABLE shorthop.victim UPDATE b = 2 WHERE 1 SETTINGS mutations_sync = 2",
  ],
  "delete rows and partitions": [
    "DELETE FROM shorthop.victim WHERE b = 2",
    "ALTER TABLE shorthop.victim DELETE WHERE b = 2 SETTINGS mutations_sync = 2",
    "ALTER TABLE shorthop.victim DROP PARTITION tuple()",
  ],
  "empty and drop tables": [
    "TRUNCATE TABLE shorthop.victim",
    "DROP VIEW shorthop.victim_view",
    "DROP TABLE shorthop.victim",
  ],
  "merge, freeze or change the storage of tables, drop the database": [
    "ALTER TABLE shorthop.clicks FREEZE",
    "ALTER TABLE shorthop.clicks MODIFY SETTING merge_with_ttl_timeout = 1",
    "OPTIMIZE TABLE shorthop.clicks FINAL",
    "DROP DATABASE shorthop",
  ],
  "other databases, and what the server knows of users": [
    "SELECT * FROM default.victim",
    "INSERT INTO default.victim SELECT 1",
    "CREATE TABLE default.mine (a UInt8) ENGINE = Memory",
    "CREATE DATABASE other",
    "SELECT name FROM system.users",
  ],
  "files, URLs, other servers": [
    from("file('/etc/passwd', 'LineAsString', 'a String')"),
    from("url('http://127.0.0.1:9/', 'CSV', 'a String')"),
    from("remote('127.0.0.1:9', 'system', 'one')"),
    from("s3('http://127.0.0.1:9/bucket/a', 'CSV', 'a String')"),
    "INSERT INTO FUNCTION file('of-a-test', 'CSV', 'a String') SELECT 'x'",
    "CREATE TABLE shorthop.mine_url (a String) ENGINE = URL('http://127.0.0.1:9/', 'CSV')",
  ],
  "users, grants, functions, dictionaries, the server itself": [
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
});

const SHIPPED = readFileSync(join(import.meta.dir, "../../deploy/clickhouse/users.xml"), "utf8");

/** ACCESS_DENIED, READONLY, SETTING_CONSTRAINT_VIOLATION */
const REFUSED = /Code: (?:497|164|452)\b/;

const READONLY = "<readonly>2</readonly>";

/**
 * What of a user's profile is tried: all of it, or grants without `readonly`, which refuses the
 * same at first.
 */
type Profile = "whole" | "not readonly";

/** The text within an element, which is indented by so many spaces. */
function within(element: string, indent: number): string {
  const space = " ".repeat(indent);
  const [, text] =
    new RegExp(`^${space}<${element}>\n([^]*?)^${space}</${element}>$`, "m").exec(SHIPPED) ?? [];
  if (text === undefined) throw new Error(`users.xml has no ${element}.`);
  return text;
}

/**
 * Writes a configuration in which the library's user is one of the shipped, with all settings of
 * its profile or without `readonly`; returns the arguments that load it.
 */
function configureAs(user: string, profile: Profile): string[] {
  const own = join(dir, user);
  mkdirSync(own, { recursive: true });
  const profiles =
    profile === "whole" ? within("profiles", 2) : within("profiles", 2).replace(READONLY, "");
  const settings = within(user, 4).replace(/<password_sha256_hex .*?\/>/, "<password></password>");
  const users = join(own, "users.xml");
  writeFileSync(
    users,
    `<clickhouse>
  <profiles><default/>${profiles}</profiles>
  <quotas><default/></quotas>
  <users><default>${settings}</default></users>
</clickhouse>
`,
  );
  const config = join(own, "config.xml");
  // As in the configuration that comes with a server.
  const access =
    "<select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>" +
    "<select_from_information_schema_requires_grant>true</select_from_information_schema_requires_grant>";
  writeFileSync(
    config,
    `<clickhouse><users_config>${users}</users_config>
<access_control_improvements>${access}</access_control_improvements></clickhouse>
`,
  );
  return [`--config-file=${config}`];
}

/** Runs `work` on the engine; only one may use a directory at a time. */
async function withEngine<T>(
  connectionArgs: string[],
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = new Engine(join(dir, "data"), connectionArgs);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

const run = (engine: Engine, sql: string) =>
  engine.run({
    sql,
    data: Buffer.alloc(0),
    format: "TabSeparated",
    database: undefined,
    settings: [],
    parameters: [],
  });

/** Makes the tables, and what users are to try, as an administrator, as far as they are missing. */
async function prepareClickHouse(): Promise<void> {
  const credentials = { user: "shorthop", password: "password of this test" };
  await withEngine(configure(join(dir, "administrator")), async (engine) => {
    await run(engine, "CREATE DATABASE IF NOT EXISTS shorthop");
    const { user, password } = credentials;
    const gateway = new Gateway(engine, `${user}:${password}`, { host: "127.0.0.1", port: 0 });
    const url = new URL("/shorthop", gateway.url);
    const client = connectClickHouse(Object.assign(url, { username: user, password }).href);
    await migrateClickHouse(client, processLog("test", "silent"));
    await client.close();
    await gateway.stop();
    for (const statement of VICTIMS) await run(engine, statement);
  });
}

/** Tries rows as a user; resolves to what the engine refused. */
async function tryClickHouse(
  user: string,
  rights: readonly Right[],
  profile: Profile = "whole",
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>();
  await withEngine(configureAs(user, profile), async (engine) => {
    for (const statement of rights.flatMap(({ tried }) => tried))
      if (await isRefused(engine, statement)) refused.add(statement);
  });
  return refused;
}

/** Whether the engine refuses a statement for want of a right; throws any other error. */
async function isRefused(engine: Engine, sql: string): Promise<boolean> {
  try {
    await run(engine, sql);
    return false;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (REFUSED.test(message)) return true;
    throw new Error(`${sql}: ${message}`, { cause: error });
  }
}

test.each(CLICKHOUSE_USERS)("the user %s may do what the page says, and no more", async (user) => {
  await prepareClickHouse();
  const refused = await tryClickHouse(user, CLICKHOUSE_RIGHTS);
  expect(findDeviations(user, CLICKHOUSE_RIGHTS, refused)).toEqual([]);
});

test("the grants of api alone refuse what its profile also does, but for its limits", async () => {
  await prepareClickHouse();
  const rows = CLICKHOUSE_RIGHTS.filter(({ tried }) =>
    tried.every((statement) => !statement.includes(" SETTINGS readonly ")),
  );
  expect(rows).toHaveLength(CLICKHOUSE_RIGHTS.length - 1);
  const refused = await tryClickHouse("api", rows, "not readonly");
  expect(findDeviations("api", rows, refused)).toEqual([]);
});

/**
 * Tries what the users of deploy/clickhouse/users.xml may do. The engine of the local stack is a
 * library without logins: its only user, `default`, gets the grants, the profile and the quota of
 * each in turn.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { configure, Engine } from "../../deploy/local/clickhouse/engine.ts";
import { Gateway } from "../../deploy/local/clickhouse/gateway.ts";
import { processLog } from "../../shared/log.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { migrateClickHouse } from "../../worker/migrations/migrate.ts";
import { type ClickHouseRight, type ClickHouseUser, VICTIMS } from "./clickhouse-rights.ts";
import type { Attempt } from "./rights.ts";

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
function configureAs(dir: string, user: ClickHouseUser, profile: Profile): string[] {
  mkdirSync(dir, { recursive: true });
  const profiles =
    profile === "whole" ? within("profiles", 2) : within("profiles", 2).replace(READONLY, "");
  const settings = within(user, 4).replace(/<password_sha256_hex .*?\/>/, "<password></password>");
  const users = join(dir, "users.xml");
  writeFileSync(
    users,
    `<clickhouse>
  <profiles><default/>${profiles}</profiles>
  <quotas><default/></quotas>
  <users><default>${settings}</default></users>
</clickhouse>
`,
  );
  const config = join(dir, "config.xml");
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
  dir: string,
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
export async function prepareClickHouse(dir: string): Promise<void> {
  const credentials = { user: "shorthop", password: "password of this test" };
  await withEngine(dir, configure(join(dir, "administrator")), async (engine) => {
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

/** Tries all rows as a user; returns a function that says how each went. */
export async function tryClickHouse(
  dir: string,
  user: ClickHouseUser,
  rows: readonly ClickHouseRight[],
  profile: Profile = "whole",
): Promise<(row: ClickHouseRight) => Promise<Attempt[]>> {
  const attempts = new Map<ClickHouseRight, Attempt[]>();
  await withEngine(dir, configureAs(join(dir, user), user, profile), async (engine) => {
    for (const row of rows) {
      const ofRow: Attempt[] = [];
      for (const tried of row.statements)
        ofRow.push({ tried, refused: await isRefused(engine, tried) });
      attempts.set(row, ofRow);
    }
  });
  return (row) => Promise.resolve(attempts.get(row) ?? []);
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

/** The worker's checks for `shorthop config check` and `shorthop doctor`. */
import type postgres from "postgres";
import type * as z from "zod";

import { requireGrants } from "../shared/clicks/query.ts";
import { CLICKS_STREAM, DEAD_LETTERS_STREAM } from "../shared/contracts/streams.ts";
import { DAY_MS } from "../shared/durations.ts";
import { pendingMigrations } from "../shared/migrations.ts";
import { connectPrimary, readTime } from "../shared/postgres.ts";
import { type Check, checkClock, checkRunning, type Checks } from "../shared/preflight.ts";
import { checkNats, checkStreams } from "../shared/stream-checks.ts";
import { checkDatabases, readDatabases } from "../shared/visitors/geo.ts";
import { connectClickHouse, isUnknownDatabase } from "./clickhouse.ts";
import type { Config, migrateConfigSchema } from "./config.ts";
import { migrations, readApplied } from "./migrations/migrate.ts";

const GRANTS = ["SELECT", "INSERT"];

/** The grants that migrations and retention need. */
const MIGRATE_GRANTS = [
  ...GRANTS,
  "CREATE TABLE",
  "CREATE VIEW",
  "ALTER COLUMN",
  "ALTER UPDATE",
  "ALTER TTL",
  "DROP TABLE",
  "DROP VIEW",
  "TRUNCATE",
];

const GRANTS_MEND = "Start ClickHouse, and give its user the grants of clickhouse/users.xml.";

/** City databases are published every month or more often. */
const GEOIP_DAYS_MAX = 45;

export const checks: Checks<Config> = {
  required: ({ DATABASE_URL, NATS_URL, CLICKHOUSE_URL, GEOIP_DATABASES, ...config }) => [
    {
      name: "DATABASE_URL",
      mend: "If there was a database, mount its disk or restore it. A new one: run shorthop migrate, and then postgres/grants.sql; users are those of postgres/roles.sql.",
      run: () => withSql(DATABASE_URL, requirePrivileges),
    },
    checkNats(NATS_URL, config),
    checkGrants(CLICKHOUSE_URL, GRANTS),
    checkDatabases(GEOIP_DATABASES),
  ],
  thorough: ({ DATABASE_URL, NATS_URL, NATS_REPLICAS, CLICKHOUSE_URL, ...config }) => [
    checkSchema(CLICKHOUSE_URL),
    checkGeoipAge(config.GEOIP_DATABASES),
    ...checkStreams({
      url: NATS_URL,
      files: config,
      streams: [CLICKS_STREAM, DEAD_LETTERS_STREAM],
      replicas: NATS_REPLICAS,
    }),
    checkClock("PostgreSQL", () => withSql(DATABASE_URL, readTime)),
    checkClock("ClickHouse", async () => Number(await queryText(CLICKHOUSE_URL, SELECT_TIME))),
    checkRunning("worker", config.WORKER_METRICS_HOST, config.WORKER_METRICS_PORT),
  ],
};

/** The checks of `migrate.env`, whose user changes the schema. */
export const migrateChecks: Checks<z.output<typeof migrateConfigSchema>> = {
  required: ({ CLICKHOUSE_URL }) => [
    checkGrants(CLICKHOUSE_URL, MIGRATE_GRANTS),
    checkSchema(CLICKHOUSE_URL),
  ],
};

const SELECT_TIME = "SELECT toUnixTimestamp64Milli(now64(3))";

const checkGrants = (url: string, privileges: readonly string[]): Check => ({
  name: "CLICKHOUSE_URL",
  mend: GRANTS_MEND,
  run: () => requireGrants(url, privileges, (statement) => queryText(url, statement)),
});

const MIGRATE = "Run shorthop migrate.";

const checkSchema = (url: string): Check => ({
  name: "schema of ClickHouse",
  mend: "Mend CLICKHOUSE_URL first.",
  async run() {
    const client = connectClickHouse(url);
    try {
      const [next] = pendingMigrations(migrations, await readApplied(client));
      if (next === undefined) return undefined;
      return { status: "failed", detail: `migration ${next.name} is not applied`, mend: MIGRATE };
    } catch (error) {
      if (!isUnknownDatabase(error)) throw error;
      return { status: "failed", detail: "the database does not exist", mend: MIGRATE };
    } finally {
      await client.close();
    }
  },
});

const checkGeoipAge = (paths: readonly string[]): Check => ({
  name: "age of GeoIP databases",
  mend: "Mend GEOIP_DATABASES first.",
  async run() {
    const mend = "Enable shorthop-geoip.timer (docs/operations.md#geoip-data).";
    if (paths.length === 0)
      return { status: "warning", detail: "there is none: clicks have no country and city", mend };
    const old = (await readDatabases(paths))
      .map(({ path, built }) => ({
        path,
        days: Math.floor((Date.now() - built.getTime()) / DAY_MS),
      }))
      .filter(({ days }) => days > GEOIP_DAYS_MAX);
    if (old.length === 0) return undefined;
    const detail = old.map(({ path, days }) => `${path} is ${days} days old`).join(", ");
    return { status: "warning", detail, mend };
  },
});

/** Runs a statement and returns its output as text. */
async function queryText(url: string, query: string): Promise<string> {
  const client = connectClickHouse(url);
  try {
    return await new Response((await client.exec({ query })).stream).text();
  } finally {
    await client.close();
  }
}

async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = connectPrimary(url, { max: 1, connect_timeout: 3, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The worker's privileges: on the counters of links, events and webhooks. */
const PRIVILEGES = {
  link_counters: ["SELECT", "UPDATE"],
  events: ["SELECT", "INSERT"],
  event_readers: ["SELECT"],
  event_progress: ["SELECT", "UPDATE"],
  webhooks: ["SELECT"],
  webhook_deliveries: ["SELECT", "INSERT", "UPDATE"],
};

/** Throws an error that names each privilege that the worker lacks. */
export async function requirePrivileges(sql: postgres.Sql): Promise<void> {
  const wanted = Object.entries(PRIVILEGES).flatMap(([table, rights]) =>
    rights.map((right) => ({ table, right })),
  );
  const rows = await sql<{ exists: boolean; missing: string }[]>`
    select to_regclass('link_counters') is not null as exists, "right" || ' on ' || "table" as missing
      from jsonb_to_recordset(${sql.json(wanted)}::jsonb) as wanted ("table" text, "right" text)
     where has_table_privilege(to_regclass("table"), "right") is not true`;
  if (rows.some(({ exists }) => !exists)) throw new Error("has no schema");
  if (rows.length > 0) throw new Error(`lacks ${rows.map(({ missing }) => missing).join(", ")}`);
}

/** Brings ClickHouse's schema and its retention up to date. */
import type { ClickHouseClient } from "@clickhouse/client";
import type { DestinationStream } from "pino";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { loadConfig } from "../../shared/env.ts";
import { type Log, processLog } from "../../shared/log.ts";
import {
  type AppliedMigration,
  checksumOf,
  type Migration,
  pendingMigrations,
} from "../../shared/migrations.ts";
import { connectClickHouse, MIGRATION_TIMEOUT_MS } from "../clickhouse.ts";
import { migrateConfigSchema } from "../config.ts";
import baseline from "./0001_baseline.sql" with { type: "text" };

/** The migrations. They are only added: an applied one never changes. */
export const migrations: readonly Migration[] = [{ id: 1, name: "baseline", text: baseline }];

/**
 * The command `migrate`: creates the database of `CLICKHOUSE_URL` if it is missing, applies pending
 * migrations and sets the retention. Logs to standard output, or to `output`.
 */
export async function migrate(
  env: Record<string, string | undefined>,
  output?: DestinationStream,
): Promise<void> {
  const config = loadConfig(migrateConfigSchema, env);
  await ensureDatabase(config.CLICKHOUSE_URL);
  const client = connectClickHouse(config.CLICKHOUSE_URL, MIGRATION_TIMEOUT_MS);
  const log = processLog("worker", config.LOG_LEVEL, output);
  await migrateClickHouse(client, log);
  // A longer retention does not bring back what the earlier one deleted.
  await rememberRetention(client);
  await setRetention(client, {
    clicksDays: config.CLICKS_RETENTION_DAYS,
    rollupsDays: config.ROLLUPS_RETENTION_DAYS,
  });
  await rememberRetention(client);
  await client.close();
}

/** The database that every ClickHouse server has, and that a URL without a path means. */
const DEFAULT_DATABASE = "default";

/** A name that needs no escape within backquotes. */
const NAME = /^[\w-]+$/;

/** Creates the database of a URL, for which the user needs the right, unless it exists. */
export async function ensureDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const database = decodeURIComponent(server.pathname.slice(1));
  if (database === "" || database === DEFAULT_DATABASE) return;
  if (!NAME.test(database)) throw new Error(`CLICKHOUSE_URL: ${database} is no database's name.`);
  server.pathname = `/${DEFAULT_DATABASE}`;
  const client = connectClickHouse(server.href);
  try {
    // A user that may not create databases can still migrate one that exists.
    const found = await client.query({
      query: "SELECT name FROM system.databases WHERE name = {database: String}",
      query_params: { database },
      format: "JSONEachRow",
    });
    if ((await found.json()).length > 0) return;
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS \`${database}\`` });
  } finally {
    await client.close();
  }
}

/**
 * Applies pending migrations. ClickHouse has no transactions for schema changes, so every statement
 * must be idempotent: a migration that was interrupted, or that two processes apply at once, is
 * applied again.
 */
export async function migrateClickHouse(client: ClickHouseClient, log: Log): Promise<void> {
  await client.command({
    query: `
      CREATE TABLE IF NOT EXISTS schema_migrations (
        id UInt32, name String, checksum String, applied_at DateTime('UTC') DEFAULT now()
      ) ENGINE = ReplacingMergeTree ORDER BY id`,
  });
  for (const migration of pendingMigrations(migrations, await readApplied(client))) {
    for (const statement of statementsOf(migration.text))
      await client.command({ query: statement });
    const { id, name } = migration;
    await client.insert({
      table: "schema_migrations",
      values: [{ id, name, checksum: checksumOf(migration) }],
      columns: ["id", "name", "checksum"],
      format: "JSONEachRow",
    });
    log.info({ migration: name }, "migration_applied");
  }
}

/**
 * Reads which migrations are applied. Throws when the table is missing, as before the first one.
 */
export async function readApplied(client: ClickHouseClient): Promise<AppliedMigration[]> {
  const result = await client.query({
    query: "SELECT id, checksum FROM schema_migrations FINAL",
    format: "JSONEachRow",
  });
  return await result.json<AppliedMigration>();
}

/** The statements of a migration; each ends with a semicolon at the end of a line. */
export const statementsOf = (text: string): string[] =>
  text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

/** Longest retention of unknown aliases in days: visitors invent them. */
const ALIASES_DAYS_MAX = 90;

/** Days after which rows expire; 0 keeps them forever. */
type Retention = { clicksDays: number; rollupsDays: number };

/** Sets the TTL of all tables. ClickHouse deletes expired rows when it merges parts. */
export async function setRetention(
  client: ClickHouseClient,
  { clicksDays, rollupsDays }: Retention,
): Promise<void> {
  const result = await client.query({
    query: `SELECT name, extract(engine_full, 'TTL (.*?) SETTINGS') AS ttl FROM system.tables
             WHERE database = currentDatabase()`,
    format: "JSONEachRow",
  });
  const rows = await result.json<{ name: string; ttl: string }>();
  const currentTtls = new Map(rows.map(({ name, ttl }) => [name, ttl]));
  const retentions = [
    { table: "clicks", time: "toDateTime(ts)", days: clicksDays },
    ...ROLLUP_TABLES.map(({ table }) => ({ table, time: "bucket", days: rollupsDays })),
    { table: "failures", time: "bucket", days: rollupsDays },
    {
      table: "unknown_aliases",
      time: "bucket",
      days: Math.min(rollupsDays || ALIASES_DAYS_MAX, ALIASES_DAYS_MAX),
    },
  ];
  for (const { table, time, days } of retentions) {
    const ttl = days === 0 ? "" : `${time} + toIntervalDay(${days})`;
    if ((currentTtls.get(table) ?? "") === ttl) continue;
    await client.command({
      query: `ALTER TABLE ${table} ${ttl === "" ? "REMOVE TTL" : `MODIFY TTL ${ttl}`}`,
    });
  }
}

// Converts the schema of a single server to that of a cluster. Each table becomes a replicated
// table `<name>_local` on every shard, and a distributed table under its own name, which workers
// and API use. All clicks of a link are on one shard, which can therefore count its distinct
// visitors. Tables that store nothing (`Null`) are on every server under their own name, and
// convert inserts on that server.

type Groups = Record<string, string>;
type Convert = (groups: Groups, on: string, cluster: string) => string[];

/** Replaces distributed tables by the local ones of a shard. */
const readLocalTables = (text: string): string =>
  text.replaceAll(/\bFROM (clicks\w*)\b/g, (_, table: string) => `FROM ${table}_local`);

/** Each form of statement in the migrations, and its conversion. */
const FORMS: readonly [form: RegExp, convert: Convert][] = [
  [
    /^CREATE TABLE IF NOT EXISTS (?<table>\w+) \((?<columns>.*)\) ENGINE = Null$/s,
    ({ table, columns }, on) => [
      `CREATE TABLE IF NOT EXISTS ${table} ${on} (${columns}) ENGINE = Null`,
    ],
  ],
  [
    /^CREATE TABLE IF NOT EXISTS (?<table>\w+) \((?<columns>.*)\) ENGINE = (?<engine>\w+)\n(?<rest>.*)$/s,
    ({ table, columns = "", engine, rest = "" }, on, cluster) => [
      `CREATE TABLE IF NOT EXISTS ${table}_local ${on} (${columns}) ` +
        `ENGINE = Replicated${engine}('/clickhouse/tables/{shard}/{database}/${table}', '{replica}')\n` +
        rest.replace(
          "non_replicated_deduplication_window = 10000",
          "replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800",
        ),
      `CREATE TABLE IF NOT EXISTS ${table} ${on} AS ${table}_local\n` +
        `ENGINE = Distributed('${cluster}', currentDatabase(), ${table}_local, ${columns.includes("link_id") ? "cityHash64(link_id)" : "rand()"})`,
    ],
  ],
  [
    // Rows inserted into `clicks` on any server go to the shard of their link.
    /^CREATE MATERIALIZED VIEW IF NOT EXISTS (?<view>\w+) TO (?<target>\w+) AS\n(?<query>.*)$/s,
    ({ view, target = "", query = "" }, on) => [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view} ${on} TO ${target.startsWith("clicks_") ? `${target}_local` : target} AS\n${readLocalTables(query)}`,
    ],
  ],
];

/**
 * Returns the statements for an empty cluster with this name in ClickHouse's `remote_servers`, in
 * order. Throws when a statement has a form that is not supported.
 */
export function clusterSchema(statements: readonly string[], name: string): string[] {
  return statements.flatMap((commented) => {
    const statement = commented.replaceAll(/^--.*\n/gm, "").trim();
    for (const [form, convert] of FORMS) {
      const match = form.exec(statement);
      if (match !== null) return convert(match.groups ?? {}, `ON CLUSTER '${name}'`, name);
    }
    throw new Error(`Cannot convert for a cluster: ${statement.slice(0, 80)}`);
  });
}

/** Goal: migrations work on a schema with data, which stays intact. */
import { afterAll, beforeAll, expect, test } from "bun:test";

import type { ClickHouseClient } from "@clickhouse/client";

import { findDifferences, queryRows, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { newUuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { checksumOf } from "../../shared/migrations.ts";
import { openClickHouse } from "../../worker/clickhouse.ts";
import { insertRows } from "../../worker/consumer/row-insert.ts";
import { ROW_COLUMNS } from "../../worker/enrich/rows.ts";
import { migrations as clickMigrations } from "../../worker/migrations/index.ts";
import { migrateClickHouse, statementsOf } from "../../worker/migrations/migrate.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const log = createLog("test", "fatal");

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
});

/** The last migration of ClickHouse before rollups from the sums of an insert. */
const BEFORE_SUMS = 3;

const DAY_SECONDS = 86_400;

/**
 * Midnight two days ago, and the day's clicks of one segment: of two links, every quarter of an
 * hour.
 */
const DAY = (Math.floor(Date.now() / 1_000 / DAY_SECONDS) - 2) * DAY_SECONDS;
const JOURNAL = newUuid();
const [LINK, OTHER_LINK, ACCOUNT] = [newUuid(), newUuid(), newUuid()];
const clicksOf = (segment: number) =>
  Array.from({ length: 96 }, (_, idx) => ({
    ts: (DAY + idx * 900 + segment) * 1_000,
    link_id: idx % 3 === 0 ? LINK : OTHER_LINK,
    account_id: ACCOUNT,
    mode: "live",
    class: idx % 8 === 0 ? "bot" : "human",
    visitor: String(segment * 10 + (idx % 10)),
    country: idx % 2 === 0 ? "DE" : "FR",
    device: "mobile",
    journal_id: JOURNAL,
    idx,
  }));

/** Inserts a segment as the worker of the previous version does. */
const insertAsBefore = (client: ClickHouseClient, page: number) =>
  client.insert({
    table: "clicks",
    values: clicksOf(page).map((click) => ({ ...click, page })),
    format: "JSONEachRow",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: `${JOURNAL}:${page}`,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
    },
  });

/** A segment as rows of `incoming_clicks`. */
const rowsOf = (segment: number, daysBefore = 0): Record<string, string | number>[] =>
  clicksOf(segment).map((click) => {
    const ts = click.ts - daysBefore * DAY_SECONDS * 1_000;
    return { ...click, ts, segment };
  });

async function insertAsNow(client: ClickHouseClient, segment: number): Promise<void> {
  const lines = rowsOf(segment).map(
    (row) => `${ROW_COLUMNS.map((column) => row[column] ?? "").join("\t")}\n`,
  );
  await insertRows(client, `${JOURNAL}:${segment}`, [Buffer.from(lines.join(""))]);
}

/** Inserts a segment as a worker of versions between, whose table has fewer columns. */
const insertBetween = (client: ClickHouseClient, segment: number, daysBefore = 0) =>
  client.insert({
    table: "incoming_clicks",
    values: rowsOf(segment, daysBefore),
    format: "JSONEachRow",
    clickhouse_settings: {
      insert_deduplicate: 1,
      insert_deduplication_token: `${JOURNAL}:${segment}`,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      async_insert: 0,
      optimize_on_insert: 0,
    },
  });

/**
 * What the analytics of the previous version read, which runs on the new schema while it is being
 * replaced.
 */
const READ_AS_BEFORE = `
  SELECT (SELECT groupArray((page, n)) FROM (SELECT page, toUInt32(count()) AS n FROM clicks GROUP BY page ORDER BY page)) AS pages,
         (SELECT groupArray((name, value, n)) FROM (
            SELECT toString(dimension) AS name, value, toUInt32(sum(clicks)) AS n FROM (
              SELECT dimension, value, clicks FROM clicks_1d_by
               WHERE link_id = {link: UUID} AND bucket < toDateTime({day: UInt32}, 'UTC')
               UNION ALL
              SELECT dimension, value, clicks FROM clicks_15m_by
               WHERE link_id = {link: UUID} AND bucket >= toDateTime({day: UInt32}, 'UTC')
                 AND bucket < toDateTime({day: UInt32}, 'UTC') + 43200
            ) WHERE dimension IN ('country', 'device') GROUP BY name, value ORDER BY name, value)) AS edges,
         (SELECT toUInt32(sum(clicks)) FROM clicks_15m_of_account WHERE account_id = {account: UUID}) AS of_account`;

type AsBefore = {
  pages: [page: number, clicks: number][];
  edges: [dimension: string, value: string, clicks: number][];
  of_account: number;
};

/** Creates a database of its own. */
async function openDatabase(name: string): Promise<ClickHouseClient> {
  const url = new URL(stack.info().clickhouse_url);
  const admin = openClickHouse(url.href);
  await admin.command({ query: `CREATE DATABASE ${name}` });
  await admin.close();
  url.pathname = `/${name}`;
  return openClickHouse(url.href);
}

async function apply(client: ClickHouseClient, statements: readonly string[]): Promise<void> {
  for (const query of statements) await client.command({ query });
}

/** Applies the migrations up to one. */
async function migrateTo(client: ClickHouseClient, last: number): Promise<void> {
  await client.command({
    query: `CREATE TABLE schema_migrations (
              id UInt32, name String, checksum String, applied_at DateTime('UTC') DEFAULT now()
            ) ENGINE = ReplacingMergeTree ORDER BY id`,
  });
  for (const migration of clickMigrations.filter(({ id }) => id <= last)) {
    await apply(client, statementsOf(migration.text));
    const { id, name } = migration;
    await client.insert({
      table: "schema_migrations",
      values: [{ id, name, checksum: checksumOf(migration) }],
      columns: ["id", "name", "checksum"],
      format: "JSONEachRow",
    });
  }
}

test("no click is lost or counted twice when rollups are filled from the sums of an insert, even if the previous version inserts meanwhile", async () => {
  const client = await openDatabase("before_sums");
  const read = () =>
    queryRows<AsBefore>(client, READ_AS_BEFORE, { link: LINK, account: ACCOUNT, day: DAY });
  const compareRollups = () => findDifferences(client, { from: DAY, to: DAY + DAY_SECONDS });
  const readSegments = () =>
    queryRows(
      client,
      "SELECT segment, toUInt32(count()) AS clicks FROM clicks GROUP BY segment ORDER BY segment",
    );

  await migrateTo(client, BEFORE_SUMS);
  await insertAsBefore(client, 1);
  await insertAsBefore(client, 2);
  const [before] = await read();

  // The previous version inserts all the while, and the migration is interrupted and repeated.
  let migrating = true;
  let last = 2;
  const inserting = (async () => {
    while (migrating || last < 5) {
      // As a worker does, which repeats an insert that fails.
      await insertAsBefore(client, last + 1).then(
        () => last++,
        () => undefined,
      );
    }
  })();
  const sums = clickMigrations.find(({ id }) => id === BEFORE_SUMS + 1);
  await apply(client, statementsOf(sums?.text ?? "").slice(0, -3));
  await migrateClickHouse(client, log);
  await migrateClickHouse(client, log);
  migrating = false;
  await inserting;
  await rememberRetention(client);

  // What was inserted while views were made anew is not in every rollup, until the consistency
  // check has run.
  await rebuildBuckets(client, await compareRollups());
  expect(await compareRollups()).toEqual([]);
  await insertAsBefore(client, last + 1);
  await insertAsNow(client, last + 2);
  await insertAsNow(client, last + 2);
  expect(await compareRollups()).toEqual([]);
  const all = Array.from({ length: last + 2 }, (_, i) => i + 1);
  expect(await readSegments()).toEqual(all.map((segment) => ({ segment, clicks: 96 })));

  const [after] = await read();
  // Segments of either version count alike for the previous one.
  expect(after).toEqual({
    pages: all.map((page) => [page, 96]),
    edges: (before?.edges ?? []).map(([name, value, clicks]) => [
      name,
      value,
      (clicks / 2) * all.length,
    ]),
    of_account: 96 * all.length,
  });
  await client.close();
});

/** The last migration of ClickHouse before daily breakdowns of links and accounts. */
const BEFORE_BREAKDOWNS = 5;

/** A breakdown as the previous version reads it; values are empty where a click has none. */
const readBreakdown = (client: ClickHouseClient) =>
  queryRows<{ dimension: string; value: string; n: number }>(
    client,
    `SELECT link_id, toString(dimension) AS dimension, value, bucket, toUInt32(sum(clicks)) AS n
       FROM clicks_1d_by WHERE dimension NOT IN ('browser', 'os')
      GROUP BY link_id, dimension, value, bucket ORDER BY ALL`,
  );

test("daily breakdowns keep their figures when they get tables of their own, also of days whose clicks are deleted", async () => {
  const client = await openDatabase("before_breakdowns");
  await migrateTo(client, BEFORE_BREAKDOWNS);
  await insertBetween(client, 1);
  await insertBetween(client, 2, 1);
  await insertBetween(client, 3, 2);
  const before = await readBreakdown(client);
  expect(before.length).toBeGreaterThan(12);
  // Retention deletes a part of a day at a time.
  await client.command({ query: "DELETE FROM clicks WHERE segment = 2 AND idx < 40" });
  await client.command({ query: "DELETE FROM clicks WHERE segment = 3" });

  const breakdowns = clickMigrations.find(({ id }) => id === BEFORE_BREAKDOWNS + 1);
  await apply(client, statementsOf(breakdowns?.text ?? "").slice(0, -4));
  await migrateClickHouse(client, log);
  expect(await readBreakdown(client)).toEqual(before);
  expect(await findDifferences(client, { from: DAY, to: DAY + DAY_SECONDS })).toEqual([]);
  await insertAsNow(client, 4);
  expect(await findDifferences(client, { from: DAY, to: DAY + DAY_SECONDS })).toEqual([]);
  for (const table of ["clicks_1d_places", "clicks_1d_agents", "clicks_1d_referrers"]) {
    const [sums] = await queryRows(
      client,
      `SELECT sumIf(clicks, subject_id = account_id) = sumIf(clicks, subject_id != account_id) AS are_equal
         FROM ${table}`,
    );
    expect(sums).toEqual({ are_equal: 1 });
  }
  await client.close();
});

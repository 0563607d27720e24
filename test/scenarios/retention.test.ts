/**
 * Goal: old clicks are deleted after their retention, while the rollups stay whatever compares
 * them; schemas are valid.
 */
import { expect, test } from "bun:test";

import type { ClickHouseClient } from "@clickhouse/client";
import fc from "fast-check";
import postgres from "postgres";

import { createClient, type Query } from "../../clients/typescript/src/index.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences, queryRows, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { readWholeFrom, rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { decodeId } from "../../shared/ids.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { setRetention } from "../../worker/migrations/migrate.ts";
import { runAdmin, runQuery } from "../harness/admin.ts";
import { createDataDir, PROJECT_DIR, removeDataDir, startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";

/** Escapes a text parameter as ClickHouse's TSV does. */
const escapeText = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t");

test("raw clicks are deleted after their retention, rollups stay, the setting is reversible, and the cluster's schema is valid", async () => {
  const dataDir = createDataDir();
  const env = { CLICKS_RETENTION_DAYS: "30" };
  const stack = await startStack({ dataDir, env });
  const { api_url, api_key } = stack.info();
  const { links, analytics } = createClient({ baseUrl: api_url, apiKey: api_key });
  const { id } = await links.create({ url: "https://example.com/old" });
  const uuid = decodeId("link", id) ?? "";
  const sql = postgres(stack.info().database_url, { max: 1 });
  await sql`update links set created_at = now() - interval '100 days' where id = ${uuid}`;
  await sql.end();
  await runQuery(
    stack,
    `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, journal_id, segment, idx)
     SELECT now64(3, 'UTC') - 86400 * if(number < 40, 60, 5), '${uuid}', generateUUIDv4(0), 'live', 'human',
            1 + number % 20, 'DE', 'mobile', '01900000-0000-7000-8000-000000000002', 0, number FROM numbers(100)`,
  );
  await runQuery(stack, "OPTIMIZE TABLE clicks FINAL");
  expect(await runQuery(stack, "SELECT count() FROM clicks")).toBe("60");
  for (const [period, total_clicks] of [
    ["90d", 100],
    ["7d", 60],
  ] as const) {
    const summary = { total_clicks, unique_clicks: 20 };
    expect(await analytics.summary(id, { period })).toMatchObject({ summary });
    const countries = { data: [{ country: "DE", clicks: total_clicks }] };
    expect(await analytics.geo(id, { period })).toMatchObject(countries);
  }
  // Rollups by dimension count people; breakdowns of other classes read single clicks, and say what
  // is missing.
  const dimensions = [
    (query: Query<"getLinkGeo">) => analytics.geo(id, query),
    (query: Query<"getLinkDevices">) => analytics.devices(id, query),
    (query: Query<"getLinkReferrers">) => analytics.referrers(id, query),
    (query: Query<"getAccountGeo">) => analytics.accountGeo(query),
    (query: Query<"getAccountAnalytics">) => analytics.account(query),
  ];
  for (const read of dimensions) {
    expect(await read({ period: "90d" })).not.toHaveProperty("complete_from");
    expect(await read({ period: "90d", class: "bot" })).toHaveProperty("complete_from");
    expect(await read({ period: "7d", class: "bot" })).not.toHaveProperty("complete_from");
  }
  // A zone whose days are not UTC's: the edge with deleted clicks is rounded to its whole UTC day.
  const inZone = await analytics.geo(id, { period: "90d", timezone: "Asia/Kolkata" });
  expect(inZone).toMatchObject({ data: [{ country: "DE", clicks: 100 }] });
  // Exact to the quarter of an hour, because only rollups remain.
  const start_date = new Date(Date.now() - 80 * 86_400_000).toISOString();
  expect((await analytics.summary(id, { start_date })).summary.total_clicks).toBe(100);
  await stack.stop();

  const without = await startStack({ dataDir });
  expect(await runQuery(without, "SHOW CREATE TABLE clicks")).not.toContain("TTL");
  const { stdout } = Bun.spawnSync([process.execPath, "worker/main.ts", "cluster-schema", "c"], {
    cwd: PROJECT_DIR,
  });
  for (const statement of stdout
    .toString()
    .split(";\n")
    .filter((text) => text.trim() !== "")) {
    // As a parameter: the local ClickHouse rejects what a statement's own text may not use.
    const parameters = { param_statement: escapeText(statement) };
    const query = "SELECT length(formatQuery({statement: String})) > 0";
    expect(await runQuery(without, query, parameters)).toBe("1");
  }
  await without.stop();
  removeDataDir(dataDir);
});

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3_600;

/** A link's clicks by table and bucket. */
const readRollups = async (client: ClickHouseClient): Promise<Map<string, number>> =>
  new Map(
    (
      await queryRows<{ key: string; clicks: number }>(
        client,
        ROLLUP_TABLES.map(
          ({ table }) =>
            `SELECT concat('${table} ', toString(toUnixTimestamp(bucket))) AS key, toFloat64(sum(clicks)) AS clicks
               FROM ${table} GROUP BY bucket`,
        ).join(" UNION ALL "),
      )
    ).map(({ key, clicks }) => [key, clicks]),
  );

/** Inserts a click so many seconds ago, for each of them. */
const insertClicks = (client: ClickHouseClient, agesSeconds: readonly number[]) =>
  client.command({
    query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, journal_id, segment, idx)
            SELECT now64(3, 'UTC') - arrayJoin({ages: Array(UInt32)}), toUUID('01900000-0000-7000-8000-00000000000b'),
                   toUUID('01900000-0000-7000-8000-00000000000c'), 'live', 'human', rand64(), generateUUIDv4(), 0, 0`,
    query_params: { ages: agesSeconds },
  });

/**
 * Sets the retention of clicks as `migrate` does, and deletes what has expired, as ClickHouse does
 * some time later.
 */
async function retain(client: ClickHouseClient, clicksDays: number): Promise<void> {
  await rememberRetention(client);
  await setRetention(client, { clicksDays, rollupsDays: 0 });
  await rememberRetention(client);
  await client.command({ query: "OPTIMIZE TABLE clicks FINAL" });
}

async function empty(client: ClickHouseClient): Promise<void> {
  await setRetention(client, { clicksDays: 0, rollupsDays: 0 });
  for (const table of [
    "clicks",
    "clicks_retention",
    ...ROLLUP_TABLES.map(({ table: name }) => name),
  ])
    await client.command({ query: `TRUNCATE TABLE ${table}` });
}

test("no comparison and no rebuild changes a bucket of which retention may have deleted clicks", async () => {
  await using stack = await startStack();
  const client = connectClickHouse(stack.info().clickhouse_url, 120_000);
  const retentions = fc.array(fc.constantFrom(0, 1, 2, 4), { minLength: 1, maxLength: 3 });
  const scenario = fc.record({
    retentions: fc
      .tuple(fc.constantFrom(1, 2, 4), retentions)
      .map(([first, others]) => [first, ...others]),
    // Most near the ends of retentions and of days.
    ages: fc.array(
      fc.integer({ min: 1, max: 8 * 24 }).map((hours) => hours * HOUR_SECONDS - 60),
      {
        minLength: 30,
        maxLength: 60,
      },
    ),
    window: fc.integer({ min: 1, max: 9 * 24 }).map((hours) => hours * HOUR_SECONDS),
    ofWholeDays: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ retentions: days, ages, window, ofWholeDays }) => {
      await empty(client);
      await insertClicks(client, ages);
      const whole = await readRollups(client);
      for (const count of days) await retain(client, count);
      const now = Math.floor(Date.now() / 1_000);
      const shortest = Math.min(...days.filter((count) => count > 0)) * DAY_SECONDS;
      const range = { from: now - window, to: now };
      const compared = ofWholeDays ? wholeDays(range) : range;
      await rebuildBuckets(client, await findDifferences(client, compared));
      expect(await readRollups(client)).toEqual(whole);
      // Nor when a rebuild is told to: a bucket that was whole when it was compared may not be any
      // more.
      const old = [...whole.keys()].flatMap((key) => {
        const [table = "", bucket = ""] = key.split(" ");
        const difference = {
          table,
          account: "01900000-0000-7000-8000-00000000000c",
          bucket: Number(bucket),
          missing: 0,
          surplus: 1,
          humans: -1,
          bots: 0,
        };
        return ["b", "c"].map((id) => ({
          ...difference,
          subject: `01900000-0000-7000-8000-00000000000${id}`,
        }));
      });
      await rebuildBuckets(
        client,
        old.filter(({ bucket }) => bucket < now - shortest),
      );
      expect(await readRollups(client)).toEqual(whole);
      expect(await readWholeFrom(client)).toBeGreaterThan(now - shortest);
    }),
    // Each run takes seconds, so the first failure is not shrunk.
    { numRuns: 4, endOnFailure: true },
  );
  // What is whole is still repaired: two of the last hours.
  await empty(client);
  await insertClicks(client, [26 * HOUR_SECONDS, 5 * HOUR_SECONDS, 5 * HOUR_SECONDS]);
  await retain(client, 1);
  const whole = await readRollups(client);
  await client.command({ query: "DELETE FROM clicks_15m WHERE bucket > now() - INTERVAL 10 HOUR" });
  const { code, stdout } = await runAdmin(stack, [
    "check-rollups",
    "--hours",
    "1200",
    "--repair",
    "--yes",
    "--json",
  ]);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    expect.objectContaining({
      missing: 2,
      surplus: 0,
      repaired: 1,
      left_out_before: expect.stringMatching(/Z$/),
    }),
  ]);
  expect(await readRollups(client)).toEqual(whole);
  await client.close();
});

test("a retention from before anything was remembered shows in the rollups", async () => {
  await using stack = await startStack();
  const client = connectClickHouse(stack.info().clickhouse_url);
  await empty(client);
  await insertClicks(client, [6 * DAY_SECONDS, 3 * DAY_SECONDS, 2 * DAY_SECONDS, HOUR_SECONDS]);
  // As the version before raised it.
  for (const clicksDays of [1, 0]) {
    await setRetention(client, { clicksDays, rollupsDays: 0 });
    await client.command({ query: "OPTIMIZE TABLE clicks FINAL" });
  }
  expect(await readWholeFrom(client)).toBe(Infinity);
  await rememberRetention(client);
  const now = Math.floor(Date.now() / 1_000);
  expect(await readWholeFrom(client)).toBeGreaterThan(now - 2 * DAY_SECONDS);
  expect(await readWholeFrom(client)).toBeLessThan(now);
  expect(await findDifferences(client, { from: now - 9 * DAY_SECONDS, to: now })).toEqual([]);
  await client.close();
});

/** Goal: a backup of PostgreSQL, ClickHouse and the secrets is sufficient for a restore. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ClickHouseBackup } from "../../cli/machines/backup/clickhouse.ts";
import type { ClickHouseParts, TableMonth } from "../../cli/machines/backup/manifest.ts";
import { Directory } from "../../cli/machines/backup/storage.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences, queryRows, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { processLog } from "../../shared/log.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { ensureDatabase, migrateClickHouse } from "../../worker/migrations/migrate.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";

const TIMEOUT_MS = 20_000;

/** The backup described in docs/operations.md. Without NATS, whose streams of links the API fills. */
const BACKED_UP = ["postgres", "clickhouse", "secrets.json"];

test("clicks that are dumped by month are the same after their restore, and all is after that of all folders", async () => {
  const [from, to] = [createDataDir(), createDataDir()];
  let key = "";
  const before = await (async () => {
    await using stack = await startStack({ dataDir: from });
    await expectSameFromDump(stack);
    ({ key } = await createAccount(stack, "enterprise"));
    const client = connectClient(stack, key);
    for (let i = 0; i < 5; i++)
      await client.links.create({
        url: `https://example.com/${i}`,
        alias: `restored-${i}`,
        tags: ["restored"],
      });
    for (let i = 0; i < 20; i++)
      await call(new URL(`restored-${i % 3}`, stack.info().short_url).href);
    await eventually(async () => {
      const { data } = await client.links.list();
      expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(20);
    }, TIMEOUT_MS);
    return await readState(client);
  })();

  expect(Bun.spawnSync(["mkdir", to]).exitCode).toBe(0);
  for (const name of BACKED_UP) {
    expect(Bun.spawnSync(["cp", "-a", join(from, name), join(to, name)]).exitCode).toBe(0);
  }
  removeDataDir(from);
  await using stack = await startStack({ dataDir: to });
  expect(await readState(connectClient(stack, key))).toEqual(before);
  await eventually(async () => {
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await call(new URL(`restored-${i}`, stack.info().short_url).href);
      expect([status, headers.get("location")]).toEqual([302, `https://example.com/${i}`]);
    }
  }, TIMEOUT_MS);
  await stack.stop();
  removeDataDir(to);
});

/** The table of a version whose clicks have a page, and no segment and no target. */
const EARLIER_TABLE = `
  CREATE TABLE clicks (
    ts DateTime64(3, 'UTC'),
    link_id UUID,
    account_id UUID,
    mode Enum8('live' = 1, 'test' = 2),
    class Enum8('human' = 1, 'bot' = 2, 'prefetch' = 3),
    class_reason LowCardinality(String),
    visitor UInt64,
    continent LowCardinality(String),
    country LowCardinality(String),
    region LowCardinality(String),
    region_name LowCardinality(String),
    city LowCardinality(String),
    browser LowCardinality(String),
    os LowCardinality(String),
    device Enum8('other' = 0, 'mobile' = 1, 'desktop' = 2, 'tablet' = 3),
    referrer LowCardinality(String),
    referrer_path String,
    language LowCardinality(String),
    utm_source LowCardinality(String),
    utm_medium LowCardinality(String),
    utm_campaign LowCardinality(String),
    utm_term LowCardinality(String),
    utm_content LowCardinality(String),
    host LowCardinality(String),
    journal_id UUID,
    page UInt32,
    idx UInt16
  ) ENGINE = MergeTree PARTITION BY toYYYYMM(ts) ORDER BY (link_id, ts)`;

/** Clicks of three months, and the rollups of their buckets. */
const EARLIER_CLICKS = 3_000;
const EARLIER_DAYS = 70;

test("clicks that an earlier version dumped months ago are the same after their restore into an empty ClickHouse, and so are their rollups", async () => {
  await using stack = await startStack({ empty: true });
  const log = processLog("test", "silent");
  await using databases = new AsyncDisposableStack();
  const open = async (name: string) => {
    const url = new URL(`/${name}`, stack.info().clickhouse_url).href;
    await ensureDatabase(url);
    const clickhouse = connectClickHouse(url);
    databases.defer(() => clickhouse.close());
    return clickhouse;
  };
  const earlier = await open("earlier");
  await earlier.command({ query: EARLIER_TABLE });
  await earlier.command({
    query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, referrer, utm_source, host, journal_id, page, idx)
            SELECT now() - INTERVAL number * ${EARLIER_DAYS * 86_400} / ${EARLIER_CLICKS} SECOND,
                   toUUID(concat('00000000-0000-7000-8000-00000000000', toString(number % 5))),
                   toUUID('00000000-0000-7000-8000-0000000000aa'), 'live', number % 7 = 0 ? 'bot' : 'human', number % 100,
                   ['DE', 'AT', 'ZZ'][number % 3 + 1], 'mobile', 'direct', concat('a\tb', toString(number % 4)), 'localhost',
                   toUUID('00000000-0000-7000-8000-0000000000bb'), number, 1
              FROM numbers(${EARLIER_CLICKS})`,
  });
  const storage = new Directory(join(stack.dataDir, "earlier-dumps"));
  const months = await new ClickHouseBackup(earlier, storage).dumpTable("clicks", [], "earlier");
  expect(months.length).toBeGreaterThan(1);

  const restored = await open("restored");
  await migrateClickHouse(restored, log);
  // As `shorthop migrate` does: before, no bucket counts as whole, and none is compared.
  await rememberRetention(restored);
  const parts = partsWith(months);
  expect(await new ClickHouseBackup(restored, storage).restore(parts)).toBe(EARLIER_CLICKS);
  const counts = `SELECT toString(toYYYYMM(ts)) AS month, toString(link_id) AS link, toString(class) AS class,
                         toString(utm_source) AS source, toString(country) AS country, toFloat64(count()) AS clicks,
                         toFloat64(uniqExact(visitor)) AS visitors, toFloat64(sum(page)) AS pages
                    FROM clicks GROUP BY ALL ORDER BY ALL`;
  expect(await queryRows(restored, counts)).toEqual(await queryRows(earlier, counts));
  // Where a click came from, as this version knows it.
  const moved = "SELECT toFloat64(count()) AS clicks FROM clicks WHERE segment != page";
  expect(await queryRows(restored, moved)).toEqual([{ clicks: 0 }]);
  const range = { from: nowSeconds() - (EARLIER_DAYS + 2) * 86_400, to: nowSeconds() + 86_400 };
  expect(await findDifferences(restored, wholeDays(range))).toEqual([]);
});

/**
 * Dumps the clicks of a stack that has none yet, and restores them with their rollups into an empty
 * ClickHouse.
 */
async function expectSameFromDump(stack: Stack): Promise<void> {
  const { key } = await createAccount(stack, "enterprise");
  const client = connectClient(stack, key);
  const link = await client.links.create({ url: "https://example.com/dumped", alias: "dumped" });
  for (let i = 0; i < 12; i++)
    // Also characters that some programs take for the end of a line.
    await call(
      new URL(`dumped?utm_source=${encodeURIComponent(`a\u2028b\t${i}`)}`, stack.info().short_url)
        .href,
    );
  await eventually(async () => {
    expect((await client.links.get(link.id)).clicks).toBe(12);
  }, TIMEOUT_MS);
  const before = await readState(client);
  const storage = new Directory(join(stack.dataDir, "dumps"));
  const clickhouse = connectClickHouse(stack.info().clickhouse_url);
  const backup = new ClickHouseBackup(clickhouse, storage);
  const dump = (name: string, known: readonly TableMonth[]) =>
    backup.dumpTable("clicks", known, name);
  const first = await dump("first", []);
  expect(first).toMatchObject([{ rows: 12 }]);
  // Files of months that are over stay as they are; this one is written again.
  const second = await dump("second", first);
  expect(second).toHaveLength(1);
  expect(second[0]?.file.name).toContain("second");
  expect(await backup.drill(partsWith(second))).toBe(12);

  expect(backup.restore(partsWith(second))).rejects.toThrow("not empty");
  for (const { table } of [{ table: "clicks" }, ...ROLLUP_TABLES])
    await clickhouse.command({ query: `TRUNCATE TABLE ${table}` });
  expect(await backup.restore(partsWith(second))).toBe(12);
  await rebuildBuckets(
    clickhouse,
    await findDifferences(clickhouse, { from: nowSeconds() - 172_800, to: nowSeconds() + 86_400 }),
  );
  expect(await readState(client)).toEqual(before);

  // A month that is over is written again only for clicks that came late; what retention deletes
  // stays in its file.
  const over = asOver(second);
  expect(await dump("third", over)).toEqual(over);
  await clickhouse.command({ query: "INSERT INTO clicks SELECT * FROM clicks LIMIT 2" });
  const late = await dump("fourth", over);
  expect(late).toMatchObject([{ rows: 14 }]);
  await clickhouse.command({ query: "TRUNCATE TABLE clicks" });
  await clickhouse.command({ query: "INSERT INTO clicks (ts) VALUES (now())" });
  const lateOver = asOver(late);
  expect(await dump("fifth", lateOver)).toEqual(lateOver);
  expect(await backup.drill(partsWith(late))).toBe(14);

  // A file that is cut short is found by the drill.
  const file = join(storage.place, late[0]?.file.name ?? "");
  writeFileSync(file, readFileSync(file).subarray(0, -20));
  expect(backup.drill(partsWith(late))).rejects.toThrow();
  await clickhouse.close();
}

/** A backup of clicks alone. */
const partsWith = (clicks: TableMonth[]): ClickHouseParts => ({
  clicks,
  rollups: [],
  failures: [],
});

/** Months as files that were written long after their end. */
const asOver = (months: readonly TableMonth[]) =>
  months.map((month) => ({
    ...month,
    made_at: new Date(Date.now() + 40 * DAY_MS).toISOString(),
  }));

const nowSeconds = () => Math.floor(Date.now() / 1_000);

const connectClient = (stack: Stack, apiKey: string) =>
  createClient({ baseUrl: stack.info().api_url, apiKey });

/**
 * Reads everything that a client can see; of short URLs only the path, because the port changes.
 */
async function readState(client: ReturnType<typeof createClient>): Promise<unknown> {
  const { data } = await client.links.list();
  const summaries = await Promise.all(data.map(({ id }) => client.analytics.summary(id)));
  const keys = await Array.fromAsync(client.keys.all());
  return {
    links: data.map((link) => ({ ...link, short_url: new URL(link.short_url).pathname })),
    summaries,
    countries: await Promise.all(data.map(({ id }) => client.analytics.geo(id))),
    keys: keys.map(({ id, name, scopes }) => ({ id, name, scopes })),
  };
}

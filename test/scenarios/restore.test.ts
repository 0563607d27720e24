/** Goal: a backup of PostgreSQL, ClickHouse and the secrets is sufficient for a restore. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ClickHouseBackup } from "../../cli/machines/backup/clickhouse.ts";
import type { ClickHouseParts, TableMonth } from "../../cli/machines/backup/manifest.ts";
import { Directory } from "../../cli/machines/backup/storage.ts";
import { createClient } from "../../clients/typescript/src/index.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

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

/**
 * Goal: what ClickHouse has can be restored from a backup, also what retention has deleted the
 * clicks of. Backups of PostgreSQL and of whole installations are scenarios.
 */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { ClickHouseClient } from "@clickhouse/client";

import { ClickHouseBackup } from "../../cli/machines/backup/clickhouse.ts";
import type { TableMonth } from "../../cli/machines/backup/manifest.ts";
import { Directory } from "../../cli/machines/backup/storage.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { findDifferences, queryRows, rebuildBuckets } from "../../shared/clicks/rollups.ts";
import { rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { processLog } from "../../shared/log.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import {
  ensureDatabase,
  migrateClickHouse,
  setRetention,
} from "../../worker/migrations/migrate.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";
import { wholeDays } from "../harness/whole-days.ts";

/** Clicks of three months, and the rollups of their buckets. */
const CLICKS = 3_000;
const DAYS = 70;

const RETENTION_DAYS = 30;

const stack = await forFile(useStack());

/** Makes a database of the stack's ClickHouse, with the schema and no retention. */
async function open(name: string) {
  const url = new URL(`/${name}`, stack.info().clickhouse_url).href;
  await ensureDatabase(url);
  const clickhouse = await forFile(connectClickHouse(url), (client) => client.close());
  await migrateClickHouse(clickhouse, processLog("test", "silent"));
  await setRetention(clickhouse, { clicksDays: 0, rollupsDays: 0 });
  await rememberRetention(clickhouse);
  return clickhouse;
}

/** Inserts clicks, evenly over so many days; some have what programs take for the end of a line. */
const insertClicks = (clickhouse: ClickHouseClient, clicks: number, days: number) =>
  clickhouse.command({
    query: `INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, country, device, referrer, utm_source, host, journal_id, segment, idx)
            SELECT now() - INTERVAL number * ${days * 86_400} / ${clicks} SECOND,
                   toUUID(concat('00000000-0000-7000-8000-00000000000', toString(number % 5))),
                   toUUID('00000000-0000-7000-8000-0000000000aa'), 'live', number % 7 = 0 ? 'bot' : 'human', number % 100,
                   ['DE', 'AT', 'ZZ'][number % 3 + 1], 'mobile', 'direct', {odd: String}, 'localhost',
                   toUUID('00000000-0000-7000-8000-0000000000bb'), number, 1
              FROM numbers(${clicks})`,
    query_params: { odd: "a\u2028b\tc" },
  });

const readClicks = (clickhouse: ClickHouseClient) =>
  queryRows(
    clickhouse,
    "SELECT toString(ts) AS at, toString(link_id) AS link, toString(visitor) AS visitor, utm_source FROM clicks ORDER BY ALL",
  );

test("the rollups of clicks that retention has deleted are the same after a restore, and nothing repairs them; so are failed requests", async () => {
  const original = await open("original");
  await insertClicks(original, CLICKS, DAYS);
  await setRetention(original, { clicksDays: RETENTION_DAYS, rollupsDays: 0 });
  await rememberRetention(original);
  await original.command({ query: "OPTIMIZE TABLE clicks FINAL" });
  // Reports of the same links, reasons and quarter hours.
  for (const _ of [1, 2])
    await original.command({
      query: `INSERT INTO failures (account_id, mode, domain, link_id, reason, bucket, requests)
              SELECT toUUID('00000000-0000-7000-8000-0000000000aa'), 'live', concat('d', toString(number % 2)),
                     toUUID(concat('00000000-0000-7000-8000-00000000000', toString(number % 5))), 'expired',
                     toStartOfFifteenMinutes(now() - INTERVAL number DAY), number
                FROM numbers(${DAYS}) SETTINGS insert_deduplicate = 0`,
    });
  const storage = new Directory(join(stack.dataDir, "whole-dumps"));
  const backup = new ClickHouseBackup(original, storage);
  const parts = await backup.dump({ clicks: [], rollups: [], failures: [] }, "first");
  const { clicks, rollups, failures } = parts;
  const dumped = clicks.reduce((sum, { rows }) => sum + rows, 0);
  expect(dumped).toBeLessThan((CLICKS * (RETENTION_DAYS + 1)) / DAYS);
  // No file is written again.
  expect(await backup.dumpRollups(rollups, "second")).toEqual(rollups);
  expect(await backup.drill(parts)).toBe(dumped);
  // A month that may still get rows is written again, one that is over is not.
  const known = failures.map(({ file }) => file.name);
  const later = await backup.dumpTable("failures", failures, "second");
  expect(known).toContain(later[0]?.file.name ?? "");
  expect(known).not.toContain(later.at(-1)?.file.name ?? "");

  // Also with a longer retention, by which the clicks would seem to be whole.
  const restored = await open("restored");
  expect(await new ClickHouseBackup(restored, storage).restore(parts)).toBe(dumped);
  expect(await readClicks(restored)).toEqual(await readClicks(original));
  expect(new ClickHouseBackup(restored, storage).restore(parts)).rejects.toThrow("not empty");
  const now = Math.floor(Date.now() / 1_000);
  const range = wholeDays({
    from: now - (DAYS + 2) * 86_400,
    to: now + 86_400,
  });
  await rebuildBuckets(restored, await findDifferences(restored, range));
  for (const { table, keys, measures } of ROLLUP_TABLES) {
    const visitors = measures.includes("visitors") ? "uniqCombined64Merge(14)(visitors)" : "0";
    const rows = `SELECT toString((${keys.join(", ")})) AS row, toFloat64(sum(clicks)) AS clicks, toFloat64(${visitors}) AS visitors
                    FROM ${table} GROUP BY ${keys.join(", ")} ORDER BY row`;
    expect(await queryRows(restored, rows)).toEqual(await queryRows(original, rows));
  }
  const failed = `SELECT toString(account_id) AS account, domain, toString(link_id) AS link, reason, toUInt32(bucket) AS begin,
                         toFloat64(sum(requests)) AS requests FROM failures GROUP BY ALL ORDER BY ALL`;
  const rows = await queryRows(restored, failed);
  // One row has no requests, and is not stored.
  expect(rows).toHaveLength(DAYS - 1);
  expect(rows).toEqual(await queryRows(original, failed));
});

/** Months as files that were written long after their end. */
const asOver = (months: readonly TableMonth[]) =>
  months.map((month) => ({ ...month, made_at: new Date(Date.now() + 40 * DAY_MS).toISOString() }));

test("a month that is over is written again only for clicks that came late, not for what retention deletes; a file that is cut short is found", async () => {
  const clickhouse = await open("by_month");
  await insertClicks(clickhouse, 12, 1 / 86_400);
  const storage = new Directory(join(stack.dataDir, "month-dumps"));
  const backup = new ClickHouseBackup(clickhouse, storage);
  const dump = (name: string, known: readonly TableMonth[]) =>
    backup.dumpTable("clicks", known, name);
  const drill = (clicks: TableMonth[]) => backup.drill({ clicks, rollups: [], failures: [] });
  const first = await dump("first", []);
  expect(first).toMatchObject([{ rows: 12 }]);
  const over = asOver(first);
  expect(await dump("second", over)).toEqual(over);
  await clickhouse.command({ query: "INSERT INTO clicks SELECT * FROM clicks LIMIT 2" });
  const late = await dump("third", over);
  expect(late).toMatchObject([{ rows: 14 }]);
  await clickhouse.command({ query: "TRUNCATE TABLE clicks" });
  await clickhouse.command({ query: "INSERT INTO clicks (ts) VALUES (now())" });
  const lateOver = asOver(late);
  expect(await dump("fourth", lateOver)).toEqual(lateOver);
  expect(await drill(late)).toBe(14);
  const file = join(storage.place, late[0]?.file.name ?? "");
  writeFileSync(file, readFileSync(file).subarray(0, -20));
  expect(drill(late)).rejects.toThrow();
});

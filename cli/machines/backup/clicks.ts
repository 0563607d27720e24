/**
 * Backups of clicks: one file per month. Their rollups are not included, because they can be
 * rebuilt from clicks; those of clicks that retention deletes are (rollups.ts).
 */
import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../../shared/clicks/rollups.ts";
import type { ClicksMonth } from "./manifest.ts";
import {
  DRILL_ROWS_MAX,
  type DumpOptions,
  dumpRows,
  insertRows,
  isOver,
  type StoredRows,
  withTable,
} from "./rows.ts";
import type { Storage } from "./storage.ts";

/** The table of a drill, beside `clicks`. */
const DRILL_TABLE = "clicks_drill";

/** The folder of the months, which later backups share. */
const FOLDER = "clicks";

/**
 * Writes the months that are missing or may have changed since they were written. Returns all
 * months, those of `known` that have not changed as they are there.
 */
export async function dumpClicks(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { known = [], name, now = new Date() }: DumpOptions<ClicksMonth>,
): Promise<ClicksMonth[]> {
  const months = await queryRows<{ month: number; clicks: number }>(
    clickhouse,
    "SELECT toYYYYMM(ts) AS month, toUInt32(count()) AS clicks FROM clicks GROUP BY month ORDER BY month",
  );
  const dumped = new Map(known.map((month) => [month.month, month]));
  for (const { month, clicks } of months) {
    const before = dumped.get(month);
    // Fewer clicks mean that retention has deleted some; the file has all of them.
    if (before !== undefined && isOver(before) && clicks <= before.clicks) continue;
    const written = await dumpMonth(clickhouse, storage, { month, name });
    // After the server has begun a response, it can report an error only by cutting the response
    // short.
    if (written.clicks < clicks)
      throw new Error(`${written.file.name} has ${written.clicks} of ${clicks} clicks`);
    dumped.set(month, { month, made_at: now.toISOString(), ...written });
  }
  return [...dumped.values()].toSorted((a, b) => a.month - b.month);
}

async function dumpMonth(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { month, name }: { month: number; name: string },
): Promise<Pick<ClicksMonth, "clicks" | "file">> {
  const query = `SELECT * FROM clicks WHERE toYYYYMM(ts) = ${month}`;
  const { rows, file } = await dumpRows(clickhouse, storage, {
    query,
    name: `${FOLDER}/${month}_${name}.tsv.gz`,
  });
  return { clicks: rows, file };
}

const rowsOf = ({ file, clicks }: ClicksMonth): StoredRows => ({ file, rows: clicks });

/** Throws when the table `clicks` is not empty. */
export async function requireNoClicks(clickhouse: ClickHouseClient): Promise<void> {
  const [present] = await queryRows<{ clicks: number }>(
    clickhouse,
    "SELECT toUInt32(count()) AS clicks FROM clicks",
  );
  if (present?.clicks !== 0) throw new Error("The table clicks is not empty.");
}

/** Restores all months into the table `clicks`, which must be empty. Returns how many clicks. */
export async function restoreClicks(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly ClicksMonth[],
): Promise<number> {
  await requireNoClicks(clickhouse);
  let restored = 0;
  for (const month of months)
    restored += await insertRows(clickhouse, storage, rowsOf(month), { table: "clicks" });
  return restored;
}

/**
 * Reads every file to its end, inserts the newest into a temporary table, and drops that table.
 * Throws when a file has other clicks than it should. Returns how many clicks it has read.
 */
export async function drillClicks(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly ClicksMonth[],
): Promise<number> {
  const newest = months.at(-1);
  if (newest === undefined) return 0;
  const create = `CREATE TABLE ${DRILL_TABLE} AS clicks ENGINE = MergeTree ORDER BY tuple()`;
  return await withTable(clickhouse, { table: DRILL_TABLE, create }, async () => {
    let read = 0;
    for (const month of months) {
      const rowsMax = month === newest ? DRILL_ROWS_MAX : 0;
      const into = { table: DRILL_TABLE, rowsMax };
      const inserted = await insertRows(clickhouse, storage, rowsOf(month), into);
      const [stored] = await queryRows<{ clicks: number }>(
        clickhouse,
        `SELECT toUInt32(count()) AS clicks FROM ${DRILL_TABLE}`,
      );
      if (stored?.clicks !== inserted)
        throw new Error(
          `${month.file.name}: ${stored?.clicks} of ${inserted} clicks were restored`,
        );
      read += month.clicks;
    }
    return read;
  });
}

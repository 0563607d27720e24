/**
 * Backups of the sums of failed requests: one file for each month. Nothing else has them. Unknown
 * aliases by name are left out: strangers make them up, and they are deleted after 90 days.
 */
import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../../shared/clicks/rollups.ts";
import type { FailuresMonth } from "./manifest.ts";
import { type DumpOptions, dumpRows, insertRows, isOver, withTable } from "./rows.ts";
import type { Storage } from "./storage.ts";

const TABLE = "failures";

/** The table of a drill, beside `failures`. */
const DRILL_TABLE = "failures_drill";

/**
 * Writes the months that are missing or may have changed since they were written. Returns all
 * months, those of `known` that have not changed as they are there.
 */
export async function dumpFailures(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { known = [], name, now = new Date() }: DumpOptions<FailuresMonth>,
): Promise<FailuresMonth[]> {
  const months = await queryRows<{ month: number }>(
    clickhouse,
    `SELECT DISTINCT toYYYYMM(bucket) AS month FROM ${TABLE} ORDER BY month`,
  );
  const dumped = new Map(known.map((month) => [month.month, month]));
  for (const { month } of months) {
    const before = dumped.get(month);
    if (before !== undefined && isOver(before)) continue;
    const rows = await dumpRows(clickhouse, storage, {
      query: `SELECT * FROM ${TABLE} WHERE toYYYYMM(bucket) = ${month}`,
      name: `${TABLE}/${month}_${name}.tsv.gz`,
    });
    dumped.set(month, { month, made_at: now.toISOString(), ...rows });
  }
  return [...dumped.values()];
}

/** Restores all months. What redirectors have reported since is added to them. */
export async function restoreFailures(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly FailuresMonth[],
): Promise<void> {
  for (const month of months) await insertRows(clickhouse, storage, month, { table: TABLE });
}

/** Reads every file to its end, and inserts it into a table that is dropped again. */
export async function drillFailures(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly FailuresMonth[],
): Promise<void> {
  const create = `CREATE TABLE ${DRILL_TABLE} AS ${TABLE} ENGINE = MergeTree ORDER BY tuple()`;
  await withTable(clickhouse, { table: DRILL_TABLE, create }, async () => {
    for (const month of months)
      await insertRows(clickhouse, storage, month, { table: DRILL_TABLE });
  });
}

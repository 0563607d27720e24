/**
 * Backups of rollups whose clicks retention deletes: nothing else has their counts. One file for
 * each table and month.
 */
import type { ClickHouseClient } from "@clickhouse/client";

import { ROLLUP_TABLES, type RollupTable } from "../../../shared/clicks/rollup-tables.ts";
import { queryRows } from "../../../shared/clicks/rollups.ts";
import { readWholeFrom, rememberDeleted } from "../../../shared/clicks/whole-clicks.ts";
import { DAY_MS } from "../../../shared/durations.ts";
import type { RollupsMonth } from "./manifest.ts";
import { DRILL_ROWS_MAX, type DumpOptions, dumpRows, insertRows, withTable } from "./rows.ts";
import type { Storage } from "./storage.ts";

const FOLDER = "rollups";

/** Clicks of so many days may be delivered again after a restore: as `CLICKS` has, and one more. */
const DELIVERED_DAYS = 4;

/** The table that a file is read into, beside its rollup. */
const RESTORED_TABLE = "rollup_restored";

/** Memory of a restored month's sums; more of them are on ClickHouse's disk. */
const GROUP_BYTES_MAX = 1024 ** 3;

/** The type of states of visitors in all rollups. */
const VISITORS_TYPE = "AggregateFunction(uniqCombined64(14), UInt64)";

/**
 * Writes the rollups of days of which clicks may be deleted, as far as no file has them. Returns
 * all months, those of `known` as they are there.
 */
export async function dumpRollups(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { known = [], name, now = new Date() }: DumpOptions<RollupsMonth>,
): Promise<RollupsMonth[]> {
  const until = await readUntil(clickhouse, now);
  const dumped = new Map(known.map((month) => [keyOf(month), month]));
  for (const rollup of until === 0 ? [] : ROLLUP_TABLES) {
    for (const month of await readMonths(clickhouse, rollup, until)) {
      const before = dumped.get(keyOf({ table: rollup.table, month }));
      const end = Math.min(until, endOf(month));
      if (before !== undefined && before.until >= end) continue;
      const rows = await dumpRows(clickhouse, storage, {
        query: selectMonth(rollup, month, until),
        name: `${FOLDER}/${rollup.table}_${month}_${name}.tsv.gz`,
      });
      const written = { table: rollup.table, month, until: end, ...rows };
      dumped.set(keyOf(written), written);
    }
  }
  return [...dumped.values()];
}

const keyOf = ({ table, month }: Pick<RollupsMonth, "table" | "month">): string =>
  `${table} ${month}`;

/** The end of a month, YYYYMM, in Unix seconds. */
const endOf = (month: number): number => Date.UTC(Math.floor(month / 100), month % 100) / 1_000;

/**
 * The end of the last day of which clicks may be deleted, in Unix seconds; 0 without one. With a
 * TTL of an unknown form, those of all days may be. Days that NATS may deliver again have none.
 */
async function readUntil(clickhouse: ClickHouseClient, now: Date): Promise<number> {
  const wholeFromMs = (await readWholeFrom(clickhouse)) * 1_000;
  const days = Math.min(
    Math.ceil(wholeFromMs / DAY_MS),
    Math.floor(now.getTime() / DAY_MS) - DELIVERED_DAYS,
  );
  return (days * DAY_MS) / 1_000;
}

async function readMonths(
  clickhouse: ClickHouseClient,
  { table }: RollupTable,
  until: number,
): Promise<number[]> {
  const rows = await queryRows<{ month: number }>(
    clickhouse,
    `SELECT DISTINCT toYYYYMM(bucket) AS month FROM ${table}
      WHERE bucket < fromUnixTimestamp({until: UInt32}) ORDER BY month`,
    { until },
  );
  return rows.map(({ month }) => month);
}

const hasVisitors = ({ measures }: RollupTable): boolean => measures.includes("visitors");

/** Rows as they are: summing those of a whole month would take memory. States are text in files. */
const selectMonth = (rollup: RollupTable, month: number, until: number): string => `
  SELECT ${rollup.keys.join(", ")}, clicks ${hasVisitors(rollup) ? ", hex(toString(visitors)) AS visitors" : ""}
    FROM ${rollup.table}
   WHERE toYYYYMM(bucket) = ${month} AND bucket < fromUnixTimestamp(${until})`;

/**
 * Restores rollups once the clicks are restored: what they lack then. No check compares the days of
 * a backup's rollups with clicks any more.
 */
export async function restoreRollups(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly RollupsMonth[],
): Promise<void> {
  if (months.length === 0) return;
  await rememberDeleted(clickhouse, Math.max(...months.map(({ until }) => until)));
  for (const month of months)
    await withRestored(clickhouse, storage, { month }, (rollup) =>
      clickhouse.command({ query: insertMissing(rollup, month) }),
    );
}

/** Reads every file to its end, and inserts the newest ones into a table that is dropped again. */
export async function drillRollups(
  clickhouse: ClickHouseClient,
  storage: Storage,
  months: readonly RollupsMonth[],
): Promise<void> {
  const newest = Math.max(...months.map(({ month }) => month));
  for (const month of months) {
    const rowsMax = month.month === newest ? DRILL_ROWS_MAX : 0;
    await withRestored(clickhouse, storage, { month, rowsMax }, () => undefined);
  }
}

/** Calls `work` while {@link RESTORED_TABLE} has the rows of a file. */
async function withRestored(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { month, rowsMax }: { month: RollupsMonth; rowsMax?: number },
  work: (rollup: RollupTable) => unknown,
): Promise<void> {
  const rollup = ROLLUP_TABLES.find(({ table }) => table === month.table);
  // A rollup that this version no longer has.
  if (rollup === undefined) return;
  const create = `CREATE TABLE ${RESTORED_TABLE} ENGINE = MergeTree ORDER BY tuple() AS
                  SELECT ${rollup.keys.join(", ")}, clicks ${hasVisitors(rollup) ? ", '' AS visitors" : ""}
                    FROM ${rollup.table} LIMIT 0`;
  await withTable(clickhouse, { table: RESTORED_TABLE, create }, async () => {
    await insertRows(clickhouse, storage, month, { table: RESTORED_TABLE, rowsMax });
    await work(rollup);
  });
}

/**
 * Inserts by how much rows of the file have more clicks than those that the restored clicks made.
 * Visitors can be added: who was counted already is still one visitor.
 */
function insertMissing(rollup: RollupTable, { month }: RollupsMonth): string {
  const keys = rollup.keys.join(", ");
  const [columns, read, merged] = hasVisitors(rollup)
    ? [
        ", visitors",
        `, CAST(unhex(visitors), '${VISITORS_TYPE}') AS visitors`,
        ", uniqCombined64MergeState(14)(visitors) AS visitors",
      ]
    : ["", "", ""];
  return `
    INSERT INTO ${rollup.table} (${keys}, clicks${columns})
    SELECT ${keys}, toUInt64(sum(difference)) AS clicks${merged}
      FROM (
        SELECT ${keys}, toInt64(clicks) AS difference${read} FROM ${RESTORED_TABLE}
        UNION ALL
        SELECT ${keys}, -toInt64(clicks) AS difference${columns} FROM ${rollup.table}
         WHERE toYYYYMM(bucket) = ${month}
      )
     GROUP BY ${keys}
    HAVING sum(difference) > 0
    SETTINGS insert_deduplicate = 0, use_query_condition_cache = 0,
             max_bytes_before_external_group_by = ${GROUP_BYTES_MAX}`;
}

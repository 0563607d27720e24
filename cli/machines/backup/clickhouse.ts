/**
 * Backups of ClickHouse: clicks and sums of failed requests, a file for each month, and the rollups
 * of clicks that retention deletes, which nothing else has. Other rollups can be rebuilt from
 * clicks; so can unknown aliases by name, which are left out: strangers make them up.
 */
import { pipeline, Readable, Transform } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";

import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../../shared/clicks/query.ts";
import { ROLLUP_TABLES, type RollupTable } from "../../../shared/clicks/rollup-tables.ts";
import { readWholeFrom, rememberDeleted } from "../../../shared/clicks/whole-clicks.ts";
import { DAY_MS } from "../../../shared/durations.ts";
import type { ClickHouseParts, RollupsMonth, TableMonth } from "./manifest.ts";
import { Digest, type Storage, type StoredFile } from "./storage.ts";

/** The tables of which a file has all rows of a month, with the column of their time. */
const TIME_COLUMNS = { clicks: "ts", failures: "bucket" };
type Table = keyof typeof TIME_COLUMNS;

/** How long a month usually gets late rows, which have waited in journals and in NATS. */
const LATE_DAYS = 4;

/** Clicks of so many days may be delivered again after a restore: as `CLICKS` has, and one more. */
const DELIVERED_DAYS = 4;

/** Bytes of text in one insert. */
const INSERT_BYTES = 8 * 1024 ** 2;

/** Rows that a drill inserts, in whole batches: enough to prove that they can be. */
const DRILL_ROWS_MAX = 1_000_000;

/** Memory of a restored month's sums; more of them are on ClickHouse's disk. */
const GROUP_BYTES_MAX = 1024 ** 3;

/** The table that rollups of a file are read into, beside theirs. */
const RESTORED_TABLE = "rollup_restored";

/** The type of states of visitors in all rollups. */
const VISITORS_TYPE = "AggregateFunction(uniqCombined64(14), UInt64)";

/** The first line of a file contains the column names. */
const NAMES_LINES = 1;

const NEWLINE = "\n".charCodeAt(0);

type StoredRows = { rows: number; file: StoredFile };

export class ClickHouseBackup {
  readonly #clickhouse: ClickHouseClient;
  readonly #storage: Storage;

  constructor(clickhouse: ClickHouseClient, storage: Storage) {
    this.#clickhouse = clickhouse;
    this.#storage = storage;
  }

  /**
   * Writes what `known`, the backup before, does not have; `name` is that of this backup. Rollups
   * first: a click that comes later is not in them, and NATS may deliver it again.
   */
  async dump(known: ClickHouseParts, name: string, now = new Date()): Promise<ClickHouseParts> {
    const rollups = await this.dumpRollups(known.rollups, name, now);
    const clicks = await this.dumpTable("clicks", known.clicks, name, now);
    const failures = await this.dumpTable("failures", known.failures, name, now);
    return { clicks, rollups, failures };
  }

  /**
   * Writes the months of a table that are missing or may have changed since they were written.
   * Returns all months, those of `known` that have not changed as they are there.
   */
  async dumpTable(
    table: Table,
    known: readonly TableMonth[],
    name: string,
    now = new Date(),
  ): Promise<TableMonth[]> {
    const inMonth = `toYYYYMM(${TIME_COLUMNS[table]})`;
    const months = await queryRows<{ month: number; rows: number }>(
      this.#clickhouse,
      `SELECT ${inMonth} AS month, toUInt32(count()) AS rows FROM ${table} GROUP BY month ORDER BY month`,
    );
    const dumped = new Map(known.map((month) => [month.month, month]));
    for (const { month, rows } of months) {
      const before = dumped.get(month);
      // Fewer rows mean that retention has deleted some; the file has all of them.
      if (before !== undefined && isOver(before) && rows <= before.rows) continue;
      const query = `SELECT * FROM ${table} WHERE ${inMonth} = ${month}`;
      const written = await this.#dumpRows(query, `${table}/${month}_${name}.tsv.gz`);
      // After the server has begun a response, it can report an error only by cutting the response
      // short. Sums of failures may be merged meanwhile.
      if (table === "clicks" && written.rows < rows)
        throw new Error(`${written.file.name} has ${written.rows} of ${rows} clicks`);
      dumped.set(month, { month, made_at: now.toISOString(), ...written });
    }
    return [...dumped.values()].toSorted((a, b) => a.month - b.month);
  }

  /**
   * Writes the rollups of days of which clicks may be deleted, as far as no file has them. Returns
   * all months, those of `known` as they are there.
   */
  async dumpRollups(
    known: readonly RollupsMonth[],
    name: string,
    now = new Date(),
  ): Promise<RollupsMonth[]> {
    const until = await this.#readUntil(now);
    const dumped = new Map(known.map((month) => [keyOf(month.table, month.month), month]));
    for (const rollup of until === 0 ? [] : ROLLUP_TABLES) {
      const { table } = rollup;
      for (const month of await this.#readMonths(table, until)) {
        const end = Math.min(until, endOf(month));
        if ((dumped.get(keyOf(table, month))?.until ?? 0) >= end) continue;
        const path = `rollups/${table}_${month}_${name}.tsv.gz`;
        const rows = await this.#dumpRows(selectMonth(rollup, month, until), path);
        dumped.set(keyOf(table, month), { table, month, until: end, ...rows });
      }
    }
    return [...dumped.values()];
  }

  /**
   * The end of the last day of which clicks may be deleted, in Unix seconds; 0 without one. With a
   * TTL of an unknown form, those of all days may be. Days that NATS may deliver again have none.
   */
  async #readUntil(now: Date): Promise<number> {
    const wholeFromMs = (await readWholeFrom(this.#clickhouse)) * 1_000;
    const days = Math.min(
      Math.ceil(wholeFromMs / DAY_MS),
      Math.floor(now.getTime() / DAY_MS) - DELIVERED_DAYS,
    );
    return (days * DAY_MS) / 1_000;
  }

  async #readMonths(table: string, until: number): Promise<number[]> {
    const rows = await queryRows<{ month: number }>(
      this.#clickhouse,
      `SELECT DISTINCT toYYYYMM(bucket) AS month FROM ${table}
        WHERE bucket < fromUnixTimestamp({until: UInt32}) ORDER BY month`,
      { until },
    );
    return rows.map(({ month }) => month);
  }

  async requireNoClicks(): Promise<void> {
    if ((await this.#count("clicks")) !== 0) throw new Error("The table clicks is not empty.");
  }

  /**
   * Restores all parts into tables of which that of clicks must be empty. Returns how many clicks.
   */
  async restore({ clicks, rollups, failures }: ClickHouseParts): Promise<number> {
    await this.requireNoClicks();
    let restored = 0;
    for (const month of clicks) restored += await this.#insertRows(month, "clicks");
    await this.#restoreRollups(rollups);
    // Later reports of redirectors are added to them.
    for (const month of failures) await this.#insertRows(month, "failures");
    return restored;
  }

  /** Restores what rollups lack once the clicks are restored: no check compares them later. */
  async #restoreRollups(months: readonly RollupsMonth[]): Promise<void> {
    if (months.length === 0) return;
    await rememberDeleted(this.#clickhouse, Math.max(...months.map(({ until }) => until)));
    for (const month of months)
      await this.#withRollups(month, Infinity, (rollup) =>
        this.#clickhouse.command({ query: insertMissing(rollup, month) }),
      );
  }

  /**
   * Reads every file to its end, and inserts the newest ones into tables that are dropped again.
   * Throws when a file has other rows than it should. Returns how many clicks it has read.
   */
  async drill({ clicks, rollups, failures }: ClickHouseParts): Promise<number> {
    await this.#drillTable("clicks", clicks);
    await this.#drillTable("failures", failures);
    const newest = Math.max(...rollups.map(({ month }) => month));
    for (const month of rollups)
      await this.#withRollups(month, month.month === newest ? DRILL_ROWS_MAX : 0, () => undefined);
    return clicks.reduce((sum, { rows }) => sum + rows, 0);
  }

  async #drillTable(table: Table, months: readonly TableMonth[]): Promise<void> {
    const drill = `${table}_drill`;
    const create = `CREATE TABLE ${drill} AS ${table} ENGINE = MergeTree ORDER BY tuple()`;
    await this.#withTable(drill, create, async () => {
      for (const month of months) {
        const rowsMax = month === months.at(-1) ? DRILL_ROWS_MAX : 0;
        const inserted = await this.#insertRows(month, drill, rowsMax);
        const stored = await this.#count(drill);
        if (stored !== inserted)
          throw new Error(`${month.file.name}: ${stored} of ${inserted} rows were restored`);
      }
    });
  }

  /** Calls `work` while {@link RESTORED_TABLE} has the rows of a file. */
  async #withRollups(
    month: RollupsMonth,
    rowsMax: number,
    work: (rollup: RollupTable) => unknown,
  ): Promise<void> {
    const rollup = ROLLUP_TABLES.find(({ table }) => table === month.table);
    // A rollup that this version no longer has.
    if (rollup === undefined) return;
    const create = `CREATE TABLE ${RESTORED_TABLE} ENGINE = MergeTree ORDER BY tuple() AS
                    SELECT ${rollup.keys.join(", ")}, clicks ${hasVisitors(rollup) ? ", '' AS visitors" : ""}
                      FROM ${rollup.table} LIMIT 0`;
    await this.#withTable(RESTORED_TABLE, create, async () => {
      await this.#insertRows(month, RESTORED_TABLE, rowsMax);
      await work(rollup);
    });
  }

  /** Calls `work` while a table exists that `create` creates. */
  async #withTable(table: string, create: string, work: () => Promise<void>): Promise<void> {
    const drop = { query: `DROP TABLE IF EXISTS ${table}` };
    // One that was interrupted has left it.
    await this.#clickhouse.command(drop);
    await this.#clickhouse.command({ query: create });
    try {
      await work();
    } finally {
      await this.#clickhouse.command(drop);
    }
  }

  async #count(table: string): Promise<number> {
    const query = `SELECT toUInt32(count()) AS rows FROM ${table}`;
    const [found] = await queryRows<{ rows: number }>(this.#clickhouse, query);
    return found?.rows ?? 0;
  }

  async #dumpRows(query: string, name: string): Promise<StoredRows> {
    const exec = { query: `${query} FORMAT TabSeparatedWithNames` };
    const { stream } = await this.#clickhouse.exec(exec);
    let lines = 0;
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        lines += countLines(chunk);
        done(null, chunk);
      },
    });
    // An error of any reaches the reader of the last.
    const content = pipeline(stream, count, createGzip(), () => undefined);
    const file = await this.#storage.write(name, content);
    return { rows: lines - NAMES_LINES, file };
  }

  /**
   * Reads a file to its end and inserts its first `rowsMax` rows, rounded up to whole batches.
   * Returns how many it inserted. Throws when the file is not what was stored.
   */
  async #insertRows(
    { file, rows: expected }: StoredRows,
    table: string,
    rowsMax = Infinity,
  ): Promise<number> {
    let columns: [string, ...string[]] | undefined;
    let [inserted, read] = [0, 0];
    const digest = new Digest();
    const content = Readable.from(digest.pass(this.#storage.read(file.name)));
    for await (const batch of readBatches(content)) {
      let rows = batch;
      if (columns === undefined) {
        const end = batch.indexOf(NEWLINE);
        const [first = "", ...others] = batch.subarray(0, end).toString().split("\t");
        columns = [first, ...others];
        rows = batch.subarray(end + 1);
      }
      const count = countLines(rows);
      read += count;
      if (count === 0 || inserted >= rowsMax) continue;
      const values = Readable.from([rows], { objectMode: false });
      await this.#clickhouse.insert({ table, columns, values, format: "TabSeparated" });
      inserted += count;
    }
    if (read !== expected || digest.result().sha256 !== file.sha256)
      throw new Error(`${file.name} is damaged: it has ${read} of ${expected} rows.`);
    return inserted;
  }
}

const keyOf = (table: string, month: number): string => `${table} ${month}`;

/** The end of a month, YYYYMM, in Unix seconds. */
const endOf = (month: number): number => Date.UTC(Math.floor(month / 100), month % 100) / 1_000;

/** Whether a file was written after its month stopped getting rows, except very late ones. */
const isOver = ({ month, made_at }: TableMonth): boolean =>
  Date.parse(made_at) > endOf(month) * 1_000 + LATE_DAYS * DAY_MS;

const hasVisitors = ({ measures }: RollupTable): boolean => measures.includes("visitors");

/** Rows as they are: summing those of a whole month would take memory. States are text in files. */
const selectMonth = (rollup: RollupTable, month: number, until: number): string => `
  SELECT ${rollup.keys.join(", ")}, clicks ${hasVisitors(rollup) ? ", hex(toString(visitors)) AS visitors" : ""}
    FROM ${rollup.table}
   WHERE toYYYYMM(bucket) = ${month} AND bucket < fromUnixTimestamp(${until})`;

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

/** Reads lines of a compressed file, some {@link INSERT_BYTES} at once. Throws when it is cut. */
async function* readBatches(compressed: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const chunks: AsyncIterable<Buffer> = pipeline(compressed, createGunzip(), () => undefined);
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (bytes + end < INSERT_BYTES || end === 0) {
      parts.push(chunk);
      bytes += chunk.length;
      continue;
    }
    yield Buffer.concat([...parts, chunk.subarray(0, end)]);
    parts = [chunk.subarray(end)];
    bytes = chunk.length - end;
  }
  yield Buffer.concat(parts);
}

function countLines(text: Buffer): number {
  let lines = 0;
  for (const byte of text) if (byte === NEWLINE) lines++;
  return lines;
}

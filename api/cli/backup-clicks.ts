/**
 * Backups of clicks: one file per month of compressed text, with the column names in its first
 * line. Rollups are not included, because they can be rebuilt from clicks.
 */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

import type { ClickHouseClient } from "@clickhouse/client";
import * as z from "zod";

import { queryRows } from "../../shared/clicks/rollups.ts";

/**
 * A month usually receives clicks until this long after its end: those that waited in journals and
 * in NATS.
 */
const LATE_DAYS = 4;

/** The file with the number of clicks in each month's file, as JSON. */
const COUNTS = "counts.json";

/** Bytes of text in one insert when restoring. */
const INSERT_BYTES = 8 * 1024 ** 2;

/**
 * Rows that a drill inserts, rounded up to whole batches: enough to prove that they can be
 * inserted.
 */
const DRILL_ROWS_MAX = 1_000_000;

/** The table of a drill, beside `clicks`. */
const DRILL_TABLE = "clicks_drill";

/** A month as YYYYMM. */
type Month = { month: number; clicks: number };

type ClicksFile = Month & { path: string };

/** The first line contains the column names. */
const NAMES_LINES = 1;

const NEWLINE = "\n".charCodeAt(0);

/**
 * Writes the months that are missing or may have changed since they were written; returns those.
 */
export async function dumpClicks(clickhouse: ClickHouseClient, dir: string): Promise<Month[]> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const months = await queryRows<Month>(
    clickhouse,
    "SELECT toYYYYMM(ts) AS month, toUInt32(count()) AS clicks FROM clicks GROUP BY month ORDER BY month",
  );
  const counts = readCounts(dir);
  const dumped: Month[] = [];
  for (const { month, clicks } of months) {
    const path = join(dir, `${month}.tsv.gz`);
    if (isOver(path, month)) {
      counts[month] ??= await countClicks(path);
      // Fewer clicks mean that retention has deleted some; the file has all of them.
      if (clicks <= counts[month]) continue;
    }
    const written = await dumpMonth(clickhouse, month, path);
    // After the server has begun a response, it can report an error only by cutting the response
    // short.
    if (written < clicks) throw new Error(`${path} has ${written} of ${clicks} clicks`);
    dumped.push({ month, clicks: written });
    counts[month] = written;
    await writeFile(join(dir, COUNTS), JSON.stringify(counts), { mode: 0o600 });
  }
  return dumped;
}

/** Whether a file was written after its month stopped receiving clicks, except very late ones. */
function isOver(path: string, month: number): boolean {
  if (!existsSync(path)) return false;
  const end = Date.UTC(Math.floor(month / 100), month % 100, 1 + LATE_DAYS);
  return statSync(path).mtimeMs > end;
}

/** The number of clicks in each month's file; missing for files of earlier versions. */
function readCounts(dir: string): Record<string, number> {
  const path = join(dir, COUNTS);
  if (!existsSync(path)) return {};
  return z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(path, "utf8")));
}

/** Reads a file to its end and counts its clicks. */
async function countClicks(path: string): Promise<number> {
  let lines = 0;
  for await (const batch of readBatches(path)) lines += countLines(batch);
  return lines - NAMES_LINES;
}

/** Returns the number of clicks. */
async function dumpMonth(
  clickhouse: ClickHouseClient,
  month: number,
  path: string,
): Promise<number> {
  const { stream } = await clickhouse.exec({
    query: `SELECT * FROM clicks WHERE toYYYYMM(ts) = ${month} FORMAT TabSeparatedWithNames`,
  });
  const unfinished = `${path}.new`;
  let lines = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      lines += countLines(chunk);
      done(null, chunk);
    },
  });
  try {
    await pipeline(stream, count, createGzip(), createWriteStream(unfinished, { mode: 0o600 }));
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  return lines - NAMES_LINES;
}

/** Restores all months into the table `clicks`, which must be empty. */
export async function restoreClicks(clickhouse: ClickHouseClient, dir: string): Promise<number> {
  const [present] = await queryRows<{ clicks: number }>(
    clickhouse,
    "SELECT toUInt32(count()) AS clicks FROM clicks",
  );
  if (present?.clicks !== 0) throw new Error("The table clicks is not empty.");
  let restored = 0;
  for (const { path } of listFiles(dir))
    restored += (await insertFile(clickhouse, path, "clicks")).inserted;
  return restored;
}

/**
 * Reads every file to its end, inserts the newest into a temporary table, and drops that table.
 * Returns the clicks of each month.
 */
export async function drillClicks(
  clickhouse: ClickHouseClient,
  dir: string,
): Promise<ClicksFile[]> {
  const files = listFiles(dir);
  const newest = files.at(-1);
  if (newest === undefined) return [];
  await clickhouse.command({ query: `DROP TABLE IF EXISTS ${DRILL_TABLE}` });
  await clickhouse.command({
    query: `CREATE TABLE ${DRILL_TABLE} AS clicks ENGINE = MergeTree ORDER BY tuple()`,
  });
  try {
    const read: ClicksFile[] = [];
    for (const file of files) {
      const rowsMax = file === newest ? DRILL_ROWS_MAX : 0;
      const { inserted, clicks } = await insertFile(clickhouse, file.path, DRILL_TABLE, rowsMax);
      const [stored] = await queryRows<{ clicks: number }>(
        clickhouse,
        `SELECT toUInt32(count()) AS clicks FROM ${DRILL_TABLE}`,
      );
      if (stored?.clicks !== inserted)
        throw new Error(`${file.path}: ${stored?.clicks} of ${inserted} clicks were restored`);
      read.push({ ...file, clicks });
    }
    return read;
  } finally {
    await clickhouse.command({ query: `DROP TABLE IF EXISTS ${DRILL_TABLE}` });
  }
}

/** The files of a backup, the oldest month first. */
const listFiles = (dir: string): { month: number; path: string }[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter((name) => /^\d{6}\.tsv\.gz$/.test(name))
        .toSorted()
        .map((name) => ({ month: Number.parseInt(name, 10), path: join(dir, name) }))
    : [];

/**
 * Reads a file to its end and inserts its first `rowsMax` rows, rounded up to whole batches.
 * Returns how many it inserted, and how many the file has.
 */
async function insertFile(
  clickhouse: ClickHouseClient,
  path: string,
  table: string,
  rowsMax = Infinity,
): Promise<{ inserted: number; clicks: number }> {
  let columns: [string, ...string[]] | undefined;
  let [inserted, clicks] = [0, 0];
  for await (const batch of readBatches(path)) {
    let rows = batch;
    if (columns === undefined) {
      const end = batch.indexOf(NEWLINE);
      const [first = "", ...others] = batch.subarray(0, end).toString().split("\t");
      columns = [first, ...others];
      rows = batch.subarray(end + 1);
    }
    const count = countLines(rows);
    clicks += count;
    if (count === 0 || inserted >= rowsMax) continue;
    const values = Readable.from([rows], { objectMode: false });
    await clickhouse.insert({ table, columns, values, format: "TabSeparated" });
    inserted += count;
  }
  return { inserted, clicks };
}

/**
 * Reads whole lines of a compressed file, about {@link INSERT_BYTES} at a time. Throws when the
 * file is cut short.
 */
async function* readBatches(path: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const chunks: AsyncIterable<Buffer> = createReadStream(path).pipe(createGunzip());
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

/**
 * Backups of clicks: one file per month of compressed text, with the column names in its first
 * line. Rollups are not included, because they can be rebuilt from clicks.
 */
import { pipeline, Readable, Transform } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";

import type { ClickHouseClient } from "@clickhouse/client";

import { queryRows } from "../../../shared/clicks/rollups.ts";
import type { ClicksMonth } from "./manifest.ts";
import { createDigest, type Storage } from "./storage.ts";

/**
 * A month usually receives clicks until this long after its end: those that waited in journals and
 * in NATS.
 */
const LATE_DAYS = 4;

/** Bytes of text in one insert when restoring. */
const INSERT_BYTES = 8 * 1024 ** 2;

/**
 * Rows that a drill inserts, rounded up to whole batches: enough to prove that they can be
 * inserted.
 */
const DRILL_ROWS_MAX = 1_000_000;

/** The table of a drill, beside `clicks`. */
const DRILL_TABLE = "clicks_drill";

/** The first line contains the column names. */
const NAMES_LINES = 1;

const NEWLINE = "\n".charCodeAt(0);

/** The folder of the months, which later backups share. */
const FOLDER = "clicks";

type DumpOptions = {
  /** The months of the backup before. */
  known?: readonly ClicksMonth[];
  /** The name of the backup. */
  name: string;
  now?: Date;
};

/**
 * Writes the months that are missing or may have changed since they were written. Returns all
 * months, those of `known` that have not changed as they are there.
 */
export async function dumpClicks(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { known = [], name, now = new Date() }: DumpOptions,
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

/** Whether a file was written after its month stopped receiving clicks, except very late ones. */
const isOver = ({ month, made_at }: ClicksMonth): boolean =>
  Date.parse(made_at) > Date.UTC(Math.floor(month / 100), month % 100, 1 + LATE_DAYS);

async function dumpMonth(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { month, name }: { month: number; name: string },
): Promise<Pick<ClicksMonth, "clicks" | "file">> {
  const { stream } = await clickhouse.exec({
    query: `SELECT * FROM clicks WHERE toYYYYMM(ts) = ${month} FORMAT TabSeparatedWithNames`,
  });
  let lines = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      lines += countLines(chunk);
      done(null, chunk);
    },
  });
  // What reads the last of them gets an error of any.
  const content = pipeline(stream, count, createGzip(), () => undefined);
  const file = await storage.write(`${FOLDER}/${month}_${name}.tsv.gz`, content);
  return { clicks: lines - NAMES_LINES, file };
}

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
    restored += (await insertMonth(clickhouse, storage, month, "clicks")).inserted;
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
  await clickhouse.command({ query: `DROP TABLE IF EXISTS ${DRILL_TABLE}` });
  await clickhouse.command({
    query: `CREATE TABLE ${DRILL_TABLE} AS clicks ENGINE = MergeTree ORDER BY tuple()`,
  });
  try {
    let read = 0;
    for (const month of months) {
      const rowsMax = month === newest ? DRILL_ROWS_MAX : 0;
      const { inserted, clicks } = await insertMonth(
        clickhouse,
        storage,
        month,
        DRILL_TABLE,
        rowsMax,
      );
      const [stored] = await queryRows<{ clicks: number }>(
        clickhouse,
        `SELECT toUInt32(count()) AS clicks FROM ${DRILL_TABLE}`,
      );
      if (stored?.clicks !== inserted)
        throw new Error(
          `${month.file.name}: ${stored?.clicks} of ${inserted} clicks were restored`,
        );
      read += clicks;
    }
    return read;
  } finally {
    await clickhouse.command({ query: `DROP TABLE IF EXISTS ${DRILL_TABLE}` });
  }
}

/**
 * Reads a file to its end and inserts its first `rowsMax` rows, rounded up to whole batches.
 * Returns how many it inserted, and how many the file has. Throws when it is not what was stored.
 */
async function insertMonth(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { file, clicks: expected }: ClicksMonth,
  table: string,
  rowsMax = Infinity,
): Promise<{ inserted: number; clicks: number }> {
  let columns: [string, ...string[]] | undefined;
  let [inserted, clicks] = [0, 0];
  const digest = createDigest();
  for await (const batch of readBatches(Readable.from(digest.pass(storage.read(file.name))))) {
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
  if (clicks !== expected || digest.result().sha256 !== file.sha256)
    throw new Error(`${file.name} is damaged: it has ${clicks} of ${expected} clicks.`);
  return { inserted, clicks };
}

/**
 * Reads whole lines of a compressed file, about {@link INSERT_BYTES} at a time. Throws when the
 * file is cut short.
 */
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

/** Counts the ends of lines. */
export function countLines(text: Buffer): number {
  let lines = 0;
  for (const byte of text) if (byte === NEWLINE) lines++;
  return lines;
}

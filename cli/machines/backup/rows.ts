/** Rows of ClickHouse as files of compressed text, with the column names in the first line. */
import { pipeline, Readable, Transform } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";

import type { ClickHouseClient } from "@clickhouse/client";

import type { StoredFile } from "./manifest.ts";
import { createDigest, type Storage } from "./storage.ts";

/** Bytes of text in one insert. */
const INSERT_BYTES = 8 * 1024 ** 2;

/**
 * Rows that a drill inserts, rounded up to whole batches: enough to prove that they can be
 * inserted.
 */
export const DRILL_ROWS_MAX = 1_000_000;

/** The first line contains the column names. */
const NAMES_LINES = 1;

const NEWLINE = "\n".charCodeAt(0);

/** A file, and how many rows it has. */
export type StoredRows = { rows: number; file: StoredFile };

/** What a dump by month needs. */
export type DumpOptions<Month> = {
  /** The months of the backup before. */
  known?: readonly Month[];
  /** The name of the backup. */
  name: string;
  now?: Date;
};

/**
 * A month usually gets rows until this long after its end: those that waited in journals and in
 * NATS.
 */
const LATE_DAYS = 4;

/** Whether a file was written after its month stopped getting rows, except very late ones. */
export const isOver = ({ month, made_at }: { month: number; made_at: string }): boolean =>
  Date.parse(made_at) > Date.UTC(Math.floor(month / 100), month % 100, 1 + LATE_DAYS);

/** Calls `work` while a table exists that `create` creates. */
export async function withTable<T>(
  clickhouse: ClickHouseClient,
  { table, create }: { table: string; create: string },
  work: () => Promise<T>,
): Promise<T> {
  const drop = { query: `DROP TABLE IF EXISTS ${table}` };
  // One that was interrupted has left it.
  await clickhouse.command(drop);
  await clickhouse.command({ query: create });
  try {
    return await work();
  } finally {
    await clickhouse.command(drop);
  }
}

/** Writes the rows of a query. */
export async function dumpRows(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { query, name }: { query: string; name: string },
): Promise<StoredRows> {
  const { stream } = await clickhouse.exec({ query: `${query} FORMAT TabSeparatedWithNames` });
  let lines = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      lines += countLines(chunk);
      done(null, chunk);
    },
  });
  // What reads the last of them gets an error of any.
  const content = pipeline(stream, count, createGzip(), () => undefined);
  const file = await storage.write(name, content);
  return { rows: lines - NAMES_LINES, file };
}

/**
 * Reads a file to its end and inserts its first `rowsMax` rows, rounded up to whole batches.
 * Returns how many it inserted. Throws when the file is not what was stored.
 */
export async function insertRows(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { file, rows: expected }: StoredRows,
  { table, rowsMax = Infinity }: { table: string; rowsMax?: number | undefined },
): Promise<number> {
  let columns: [string, ...string[]] | undefined;
  let [inserted, read] = [0, 0];
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
    read += count;
    if (count === 0 || inserted >= rowsMax) continue;
    const values = Readable.from([rows], { objectMode: false });
    await clickhouse.insert({ table, columns, values, format: "TabSeparated" });
    inserted += count;
  }
  if (read !== expected || digest.result().sha256 !== file.sha256)
    throw new Error(`${file.name} is damaged: it has ${read} of ${expected} rows.`);
  return inserted;
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

/**
 * Looks for the traces of an account in everything that a stack stores: the rows of PostgreSQL and
 * ClickHouse, the messages of JetStream, and the files of journals, host stores and logs.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";
import postgres from "postgres";

import { chunkIndex, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { natsLogin } from "../../shared/nats.ts";
import type { Stack } from "./stack.ts";

/** What is looked for: bytes, each with what it is. */
export type Marker = { name: string; bytes: Buffer };

/** A word, and a UUID in each form in which it is stored. */
export const wordMarker = (word: string): Marker => ({ name: word, bytes: Buffer.from(word) });
export const idMarkers = (uuid: string): Marker[] => [
  { name: uuid, bytes: Buffer.from(uuid) },
  { name: `${uuid} in hexadecimal`, bytes: Buffer.from(uuid.replaceAll("-", "")) },
  { name: `${uuid} in bytes`, bytes: Buffer.from(uuid.replaceAll("-", ""), "hex") },
];

/** Where a marker was found, with the beginning of what has it. */
export type Trace = { where: string; marker: string; text: string };

/** More than the row of a proof has. */
const TEXT_BYTES_MAX = 20_000;

type Part = { where: string; bytes: Buffer };

export async function findTraces(stack: Stack, markers: readonly Marker[]): Promise<Trace[]> {
  const found: Trace[] = [];
  for await (const { where, bytes } of readEverything(stack))
    for (const { name, bytes: marker } of markers)
      if (bytes.includes(marker))
        found.push({ where, marker: name, text: bytes.toString("latin1", 0, TEXT_BYTES_MAX) });
  return found;
}

/** The places of traces, each once. */
export const placesOf = (traces: readonly Trace[]): string[] =>
  [...new Set(traces.map(({ where }) => where))].toSorted();

async function* readEverything(stack: Stack): AsyncGenerator<Part> {
  yield* readPostgres(stack);
  yield* readClickHouse(stack);
  yield* readJetStream(stack);
  for (const folder of ["journal", "links", "logs"]) yield* readFiles(stack.dataDir, folder);
}

async function* readPostgres(stack: Stack): AsyncGenerator<Part> {
  const sql = postgres(stack.info().database_url, { max: 1 });
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`;
  for (const { name } of tables)
    for (const { row } of await sql.unsafe<{ row: string }[]>(
      `select row_to_json(dumped)::text as row from ${name} dumped`,
    ))
      yield { where: `PostgreSQL ${name}`, bytes: Buffer.from(unescapeBytes(row)) };
  await sql.end();
}

/** The log of links has entries as bytes, which JSON has in hexadecimal digits. */
const unescapeBytes = (row: string): string =>
  row.replaceAll(/"\\\\x([0-9a-f]+)"/g, (_, hex: string) => Buffer.from(hex, "hex").toString());

async function* readClickHouse(stack: Stack): AsyncGenerator<Part> {
  const query = async (text: string): Promise<string> => {
    const response = await fetch(stack.info().clickhouse_url, { method: "POST", body: text });
    if (!response.ok) throw new Error(await response.text());
    return await response.text();
  };
  const tables = await query(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' FORMAT TSV",
  );
  for (const name of tables.trim().split("\n")) {
    const rows = await query(`SELECT * FROM ${name} FORMAT JSONEachRow`);
    for (const row of rows.trim().split("\n"))
      yield { where: `ClickHouse ${name}`, bytes: Buffer.from(row) };
  }
}

async function* readJetStream(stack: Stack): AsyncGenerator<Part> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  const manager = await nats.jetstreamManager();
  for await (const { config, state } of manager.streams.list()) {
    const snapshots = new Map<string, Map<number, Buffer>>();
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage(config.name, { seq }).catch(() => undefined);
      if (message === undefined) continue;
      const bytes = Buffer.from(message.data);
      yield {
        where: `JetStream ${config.name}`,
        bytes: Buffer.concat([Buffer.from(message.subject), bytes]),
      };
      if (config.name !== SNAPSHOTS_STREAM) continue;
      const [, name = ""] = message.subject.split(".");
      const chunks = snapshots.get(name) ?? new Map<number, Buffer>();
      snapshots.set(name, chunks.set(chunkIndex(message.subject), bytes));
    }
    for (const chunks of snapshots.values()) {
      const parts = [...chunks]
        .filter(([index]) => !Number.isNaN(index))
        .toSorted(([a], [b]) => a - b);
      const file = await Bun.zstdDecompress(Buffer.concat(parts.map(([, bytes]) => bytes)));
      yield { where: "JetStream snapshots", bytes: Buffer.from(file) };
    }
  }
  await nats.close();
}

function* readFiles(dataDir: string, folder: string): Generator<Part> {
  for (const name of readdirSync(join(dataDir, folder), { recursive: true, encoding: "utf8" })) {
    const path = join(dataDir, folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true)
      yield { where: folder, bytes: readFileSync(path) };
  }
}

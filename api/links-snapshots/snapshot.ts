/**
 * Makes one snapshot: builds its file from PostgreSQL while requests and changes continue, as that
 * of a links store whose history ends at the snapshot's start, and stores it in NATS.
 */
import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";

import type { JetStreamClient, JetStreamManager } from "nats";

import { isDecodable, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { PULL_BYTES_MAX } from "../../shared/contracts/streams.ts";
import type { Head } from "../../shared/links-log/entries.ts";
import {
  type LogSigner,
  type LogVerifier,
  manifestStatement,
} from "../../shared/links-log/signature.ts";
import {
  CHUNK_BYTES,
  chunkHeaders,
  chunkSubject,
  encodeManifest,
  listSnapshots,
  listSubjects,
  type Manifest,
  manifestSubject,
  PART_BYTES,
  SNAPSHOTS_KEPT,
  SNAPSHOTS_STREAM,
  snapshotSubjects,
} from "../../shared/links-log/snapshots.ts";
import {
  EMPTY_LOG,
  indexRows,
  prepareAdd,
  setLogState,
  STORE_FORMAT,
  TABLES,
  toChange,
} from "../../shared/links-store/schema.ts";
import { readDomainNotices } from "../domains/notices.ts";
import { type LogHead, numberAll, numberLog } from "../links-log/log.ts";
import { readServedLinks } from "../links/record.ts";
import type { Sql } from "../postgres.ts";
import { readTakedownNotice } from "../takedowns/service.ts";

/** A snapshot before it is stored. */
export type SnapshotContents = Omit<Manifest, "bytes" | "sha256">;

/**
 * Writes all links to a file. Everything is read by one connection: none survives that PostgreSQL
 * comes back older, so what is read is of one history, and all of it is before the end.
 */
export async function buildSnapshot(sql: Sql, path: string): Promise<SnapshotContents> {
  const session = await sql.reserve();
  try {
    // A log without entries gets its first one, as a snapshot begins after one.
    const start = await numberLog(session, { heartbeat: true });
    using db = createFile(path);
    const links = await writeStates(session, db);
    const end = toHead(await numberAll(session));
    const head = toHead(start);
    setLogState(db, { ...EMPTY_LOG, database: start.database, head, written: head, links });
    db.run("COMMIT");
    return { format: STORE_FORMAT, database: start.database, start: head, end, links };
  } finally {
    session.release();
  }
}

function createFile(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true, strict: true });
  // Needs no journal: an unfinished file is discarded.
  db.run("PRAGMA journal_mode = OFF");
  db.run("PRAGMA synchronous = OFF");
  db.run(TABLES);
  db.run("BEGIN");
  return db;
}

/** Writes takedowns, domains and links; returns the number of links. */
async function writeStates(session: Sql, db: Database): Promise<number> {
  const add = prepareAdd(db);
  let links = 0;
  const write = (record: LinkRecord): void => {
    if (!isDecodable(record)) throw new Error("A record is malformed.");
    links += add(toChange(record));
  };
  write(await readTakedownNotice(session));
  for await (const notices of readDomainNotices(session)) notices.forEach(write);
  for await (const records of readServedLinks(session)) records.forEach(write);
  return links - indexRows(db);
}

const toHead = ({ term, position, hash }: LogHead): Head => ({ term, position, hash });

/** Chunks that wait for their acknowledgement at a time. */
const WINDOW = PULL_BYTES_MAX / CHUNK_BYTES;

/**
 * Compresses a file and stores it under a new name, with its signed manifest last; returns the
 * name. What is left of one that could not be stored is removed with the next snapshot.
 */
export async function storeSnapshot(
  client: JetStreamClient,
  signer: LogSigner,
  path: string,
  contents: SnapshotContents,
): Promise<string> {
  const name = crypto.randomUUID();
  const compressed = `${path}.zst`;
  await pipeline(
    createReadStream(path, { highWaterMark: PART_BYTES }),
    createZstdCompress({ chunkSize: PART_BYTES }),
    createWriteStream(compressed, { mode: 0o600 }),
  );
  const file = Bun.file(compressed);
  const hash = createHash("sha256");
  const waiting: Promise<unknown>[] = [];
  for (let index = 0; index * CHUNK_BYTES < file.size; index++) {
    const start = index * CHUNK_BYTES;
    const chunk = await file.slice(start, start + CHUNK_BYTES).bytes();
    hash.update(chunk);
    if (waiting.length === WINDOW) await Promise.all(waiting.splice(0, WINDOW / 2));
    const published = client.publish(chunkSubject(name, index), chunk, {
      headers: chunkHeaders(chunk),
    });
    // A failure is thrown when its turn comes.
    published.catch(() => undefined);
    waiting.push(published);
  }
  await Promise.all(waiting);
  const manifest = encodeManifest({ ...contents, bytes: file.size, sha256: hash.digest("hex") });
  const headers = signer.sign(manifestStatement(name, manifest));
  await client.publish(manifestSubject(name), manifest, { headers });
  return name;
}

/**
 * Removes all but the last snapshots. Also those that were begun and never completed, and those of
 * strangers; so nobody may store one meanwhile.
 */
export async function removeOldSnapshots(
  manager: JetStreamManager,
  verifier: LogVerifier,
): Promise<void> {
  const stored = await listSnapshots(manager, verifier);
  const kept = new Set(stored.slice(-SNAPSHOTS_KEPT).map(({ name }) => name));
  const subjects = await listSubjects(manager, ">");
  const names = new Set(subjects.map((subject) => subject.split(".")[1]));
  for (const name of names)
    if (name !== undefined && !kept.has(name))
      await manager.streams.purge(SNAPSHOTS_STREAM, { filter: snapshotSubjects(name) });
}

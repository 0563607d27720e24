/**
 * Builds the file of a snapshot from PostgreSQL, while requests and changes continue: the file of a
 * links store whose history ends at the snapshot's start.
 */
import { Database } from "bun:sqlite";

import {
  decodeLinkRecord,
  encodeLinkRecord,
  type LinkRecord,
} from "../../shared/contracts/link-record.ts";
import type { Head } from "../../shared/links-log/entry.ts";
import type { Manifest } from "../../shared/links-log/snapshots.ts";
import { EMPTY_LOG, setLogState } from "../../shared/links-store/log-state.ts";
import { prepareReplace, SCHEMA, STORE_FORMAT, toChange } from "../../shared/links-store/schema.ts";
import { readDomainNotices } from "../domains/notices.ts";
import { type LogHead, numberAll, numberLog } from "../links-log/log.ts";
import { readServedLinks } from "../links/republishing.ts";
import type { Sql } from "../postgres.ts";
import { readTakedownNotice } from "../takedowns/service.ts";

/** A snapshot before it is stored. */
export type SnapshotContents = Omit<Manifest, "bytes" | "sha256">;

/**
 * Writes all links to a file. Returns undefined when stopped.
 * Everything is read by one connection: none survives that PostgreSQL comes back older, so what is
 * read is of one history, and all of it is before the end.
 */
export async function buildSnapshot(
  sql: Sql,
  path: string,
  isStopped: () => boolean,
): Promise<SnapshotContents | undefined> {
  const session = await sql.reserve();
  try {
    // A log without entries gets its first one, as a snapshot begins after one.
    const start = await numberLog(session, undefined, true);
    using db = createFile(path);
    const links = await writeStates(session, db, start, isStopped);
    if (links === undefined) return undefined;
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
  db.run(SCHEMA);
  db.run("BEGIN");
  return db;
}

/** Writes takedowns, domains and links; returns the number of links, or undefined when stopped. */
async function writeStates(
  session: Sql,
  db: Database,
  { position }: Head,
  isStopped: () => boolean,
): Promise<number | undefined> {
  const replace = prepareReplace(db);
  let links = 0;
  const write = (record: LinkRecord): void => {
    const message = encodeLinkRecord(record);
    const decoded = decodeLinkRecord(message);
    if (decoded === undefined) throw new Error("A record is malformed.");
    links += replace(toChange(decoded, message)).links;
  };
  write(await readTakedownNotice(session, position));
  for await (const notices of readDomainNotices(session)) notices.forEach(write);
  for await (const records of readServedLinks(session)) {
    if (isStopped()) return undefined;
    records.forEach(write);
  }
  return links;
}

const toHead = ({ term, position, hash }: LogHead): Head => ({ term, position, hash });

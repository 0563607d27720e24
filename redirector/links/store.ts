/**
 * The links store: every short link of the feed in a file of SQLite that all redirector processes of a host share, with
 * the position in the feed up to which it has them. One process writes, in transactions that hold both the records and
 * the position; all read, and learn from a list of changes which links to take over into memory.
 */
import { Database } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, resolve } from "node:path";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { readFreeBytes } from "../../shared/disk.ts";
import { keyOf } from "../../shared/links-store/record.ts";
import {
  type Change,
  countLinks,
  type FeedState,
  preparePut,
  prepareRemove,
  readFeed,
  SCHEMA,
  setFeed,
  STORE_NAME,
} from "../../shared/links-store/schema.ts";
import { DamagedRecordError, decodeStoredRecord } from "../../shared/links-store/stored-record.ts";

/** The changes that readers can take over one by one; a reader that is further behind forgets what it has in memory. */
export const CHANGES_KEPT = 100_000;

/** Memory for pages, in KiB: a writer finds most inner pages of the tree there, readers use the system's. */
const WRITER_CACHE_KIB = 64 * 1024;
const READER_CACHE_KIB = 2 * 1024;

/** How long a statement of the writer waits for the one before it. Readers wait for nobody. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * The write-ahead log is taken over into the file at this size, and made this small again after it had to grow. By default
 * SQLite does so after 4 MiB, with two syncs for each thousand changes: that takes twice as long.
 */
const WAL_BYTES = 64 * 1024 * 1024;

/** The same on a disk with little room. */
const WAL_BYTES_SCARCE = 4 * 1024 * 1024;

const PAGE_BYTES = 4096;

export const storePath = (dir: string): string => join(dir, STORE_NAME);

/** The folder of the store while the disk has no room for one. */
export const memoryDir = (dir: string): string =>
  join("/dev/shm", `shorthop-links-${Bun.hash(resolve(dir)).toString(36)}`);

/**
 * Finds the file of the store; undefined while there is none. A file that takes its place has another inode. One of
 * another user is none: everybody may write to the folder of what is in memory.
 */
export function findStore(dir: string): { dir: string; inode: number } | undefined {
  for (const folder of [dir, memoryDir(dir)]) {
    const stats = statSync(storePath(folder), { throwIfNoEntry: false });
    if (stats !== undefined && stats.uid === process.getuid?.())
      return { dir: folder, inode: stats.ino };
  }
  return undefined;
}

/** Why the store is not where it should be; undefined when it is. */
export const storeWarning = (dir: string): string | undefined =>
  findStore(dir)?.dir === memoryDir(dir)
    ? "the links store is in memory, as LINKS_DIR could not be written; a start reads all links from the feed"
    : undefined;

/** Makes a folder that only its owner may use; throws when it is another user's. */
export function makeFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (statSync(dir).uid !== process.getuid?.()) throw new Error(`${dir} is another user's.`);
}

/** A file that a process makes which has found the store damaged; the one that writes it then starts another one. */
export const damageMarkPath = (dir: string): string => `${storePath(dir)}.is-damaged`;

/** The file and what SQLite keeps beside it. */
const SUFFIXES = ["", "-wal", "-shm"];

/** The file of the store and what SQLite keeps beside it. */
export const storeFiles = (dir: string): string[] =>
  SUFFIXES.map((suffix) => `${storePath(dir)}${suffix}`);

/** Keeps a damaged store for whoever wants to know what happened, and makes room for another one. */
export function setAside(dir: string): void {
  for (const suffix of SUFFIXES) {
    const path = `${storePath(dir)}${suffix}`;
    if (existsSync(path)) renameSync(path, `${storePath(dir)}.damaged${suffix}`);
  }
  rmSync(damageMarkPath(dir), { force: true });
}

/** Room that is kept for changes when the disk is full otherwise: as much as taking over a full log needs. */
const RESERVE_BYTES = WAL_BYTES;

const reservePath = (dir: string): string => `${storePath(dir)}.reserve`;

/** A disk with less room than so many reserves is nearly full: the room is the store's. */
const RESERVE_SHARE = 4;

/** Written at a time: the whole reserve at once would take as much memory. */
const RESERVE_PART = Buffer.alloc(1024 * 1024);

/** Takes room on the disk that {@link releaseReserve} gives back; returns whether there is such room. */
function keepReserve(dir: string, bytes: number): boolean {
  const path = reservePath(dir);
  if (existsSync(path)) return true;
  try {
    if (readFreeBytes(dir) < RESERVE_SHARE * bytes) return false;
    const file = openSync(path, "w");
    try {
      for (let at = 0; at < bytes; at += RESERVE_PART.length) writeSync(file, RESERVE_PART);
    } finally {
      closeSync(file);
    }
    return true;
  } catch {
    rmSync(path, { force: true });
    return false;
  }
}

/** Gives the reserve to the store; returns whether there was one. */
export function releaseReserve(dir: string): boolean {
  const path = reservePath(dir);
  if (!existsSync(path)) return false;
  rmSync(path, { force: true });
  return true;
}

/** SQLite's result codes for a file that is not, or no longer, what SQLite wrote. */
const DAMAGED = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB"]);

/** Whether an error says that the file is damaged. */
export function isDamage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DamagedRecordError) return true;
    if ("code" in cause && typeof cause.code === "string" && DAMAGED.has(cause.code)) return true;
  }
  return false;
}

/** Tells the process that writes the store that it is damaged. */
export function markDamaged(dir: string): void {
  try {
    writeFileSync(damageMarkPath(dir), "");
  } catch {
    // Another process that reads the store finds the same, or the one that writes it.
  }
}

export type StoreWriter = ReturnType<typeof openWriter>;

/**
 * Opens the store to write, and creates it; throws when the file is damaged or the disk is full. Only the process that
 * holds the folder's lock may do this. Tests that open many keep no room.
 */
export function openWriter(dir: string, { reserveBytes = RESERVE_BYTES } = {}) {
  makeFolder(dir);
  // It has hashes of passwords. What SQLite makes beside it has the same permissions.
  closeSync(openSync(storePath(dir), "a", 0o600));
  const db = new Database(storePath(dir), { create: true, readwrite: true, strict: true });
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  db.run("PRAGMA journal_mode = WAL");
  // After a power failure the last transactions may be missing, with their position: the feed delivers them again.
  db.run("PRAGMA synchronous = NORMAL");
  db.run(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  db.run(`PRAGMA journal_size_limit = ${WAL_BYTES}`);
  db.run(SCHEMA);
  const hasRoom = keepReserve(dir, reserveBytes);
  const logBytes = hasRoom ? WAL_BYTES : WAL_BYTES_SCARCE;
  db.run(`PRAGMA wal_autocheckpoint = ${logBytes / PAGE_BYTES}`);
  // What a larger log takes is needed for changes.
  if (!hasRoom) db.run("PRAGMA wal_checkpoint(TRUNCATE)");

  const put = preparePut(db);
  const remove = prepareRemove(db);
  const note = db.prepare<undefined, [string]>("INSERT INTO changes (key) VALUES (?)");
  const trim = db.prepare<undefined, [number]>(
    "DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - ?",
  );
  const olderThan = db.prepare<{ key: string; version: number }, [string, number]>(
    "SELECT key, version FROM links WHERE key > ? ORDER BY key LIMIT ?",
  );
  let links = countLinks(db);

  const write = db.transaction((changes: readonly Change[], feed: FeedState, stream?: string) => {
    let [changed, added] = [0, 0];
    for (const change of changes) {
      const written = put(change);
      if (!written.changed) continue;
      note.run(change.key);
      changed++;
      added += written.links;
    }
    if (changed > 0) trim.run(CHANGES_KEPT);
    setFeed(db, feed, links + added, stream);
    return { changed, added };
  });

  const sweep = db.transaction(
    (epoch: number, after: string, limit: number, kept: (key: string) => boolean) => {
      const rows = olderThan.all(after, limit);
      let [removed, removedLinks] = [0, 0];
      for (const { key, version } of rows) {
        if (version >= epoch || kept(key)) continue;
        removedLinks += remove(key);
        note.run(key);
        removed++;
      }
      if (removed > 0) trim.run(CHANGES_KEPT);
      if (removedLinks > 0) setFeed(db, readFeed(db), links - removedLinks);
      const next = rows.length < limit ? undefined : rows.at(-1)?.key;
      return { removed, removedLinks, next };
    },
  );

  return {
    feed: (stream?: string) => readFeed(db, stream),
    /** Stores records that are newer than those it has, and the state of a stream; returns how many were newer. */
    write(changes: readonly Change[], feed: FeedState, stream?: string): number {
      const { changed, added } = write.immediate(changes, feed, stream);
      links += added;
      return changed;
    },
    /** How many links the store has. */
    links: (): number => links,
    /**
     * Removes links that are older than an epoch, of so many after a key. Returns the key to go on after; undefined at the
     * end.
     */
    sweep(
      epoch: number,
      after: string,
      limit: number,
      kept: (key: string) => boolean = () => false,
    ): { removed: number; next: string | undefined } {
      const { removedLinks, ...swept } = sweep.immediate(epoch, after, limit, kept);
      links -= removedLinks;
      return swept;
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
}

/** What changed since a reader looked last: the short links, or too many to tell. */
export type Changes = { keys: readonly string[]; number: number } | undefined;

export type StoreReader = ReturnType<typeof openReader>;

/**
 * Opens the store to read; throws while there is none. Each call is one short statement, so that no reader keeps the
 * write-ahead log from being taken over into the file.
 */
export function openReader(dir: string) {
  const db = new Database(storePath(dir), { readwrite: true, create: false, strict: true });
  db.run("PRAGMA busy_timeout = 0");
  db.run(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
  db.run("PRAGMA query_only = 1");
  const find = db.prepare<{ record: Uint8Array }, [string]>(
    "SELECT record FROM links WHERE key = ?",
  );
  const dataVersion = db.prepare<{ data_version: number }, []>("PRAGMA data_version");
  const bounds = db.prepare<{ first: number | null; last: number | null }, []>(
    "SELECT (SELECT min(number) FROM changes) AS first, (SELECT max(number) FROM changes) AS last",
  );
  const since = db.prepare<{ key: string; number: number }, [number, number]>(
    "SELECT key, number FROM changes WHERE number > ? ORDER BY number LIMIT ?",
  );

  return {
    feed: (stream?: string) => readFeed(db, stream),
    /** Finds the record of a link or notice; throws as `decodeStoredRecord` does. */
    find(domain: string, alias: string): LinkRecord | undefined {
      const row = find.get(keyOf({ domain, alias }));
      return row === null ? undefined : decodeStoredRecord(row.record);
    },
    /** Another number after each transaction of the writer. */
    dataVersion: (): number => dataVersion.get()?.data_version ?? 0,
    /** The number of the last change. */
    lastChange: (): number => bounds.get()?.last ?? 0,
    /** The next `limit` keys that changed after the change of a number; undefined when some of them are forgotten. */
    changesSince(number: number, limit: number): Changes {
      const first = bounds.get()?.first ?? 1;
      if (first > number + 1) return undefined;
      const rows = since.all(number, limit);
      return { keys: rows.map(({ key }) => key), number: rows.at(-1)?.number ?? number };
    },
    close: () => db.close(),
  };
}

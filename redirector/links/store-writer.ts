/**
 * Writes the links store, in transactions that contain both the records and the position in the
 * feed that they reach.
 */
import { Database } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";

import {
  type Change,
  countLinks,
  type FeedState,
  PAGE_BYTES,
  preparePut,
  prepareRemove,
  readFeed,
  SCHEMA,
  setFeed,
} from "../../shared/links-store/schema.ts";
import { makeFolder, storePath } from "./store-files.ts";
import { keepReserve } from "./store-reserve.ts";

/** Changes that readers can apply one by one; a reader further behind clears its memory. */
export const CHANGES_KEPT = 100_000;

/** Memory for pages, in KiB: more than all inner pages of ten million links. */
const CACHE_KIB = 16 * 1024;

/** How long a statement of the writer waits for the previous one. Readers wait for nobody. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * Size at which the write-ahead log is checkpointed into the file, and to which it is truncated
 * after growing. By default SQLite checkpoints at 4 MiB, with two syncs for each thousand changes,
 * which takes twice as long.
 */
const WAL_BYTES = 64 * 1024 * 1024;

/** Space reserved for changes on a full disk: as much as a checkpoint of a full log needs. */
export const RESERVE_BYTES = WAL_BYTES;

/** {@link WAL_BYTES} on a disk with little space. */
const WAL_BYTES_SCARCE = 4 * 1024 * 1024;

export type StoreWriter = ReturnType<typeof openWriter>;

/**
 * Opens the store for writing, or creates it; throws when the file is damaged or the disk is full.
 * Only the process that holds the folder's lock may do this. Tests that open many stores reserve no
 * space.
 */
export function openWriter(dir: string, { reserveBytes = RESERVE_BYTES } = {}) {
  const db = prepareDatabase(dir, reserveBytes);
  const put = preparePut(db);
  const remove = prepareRemove(db);
  const { note, trim, olderThan } = prepareStatements(db);
  let links = countLinks(db);

  const write = db.transaction((changes: readonly Change[], feed: FeedState, stream?: string) => {
    let [changed, added] = [0, 0];
    // In the order of the index, so that each of its pages is changed once.
    for (const change of changes.toSorted(byKey)) {
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
    (epoch: number, after: number, limit: number, kept: (key: string) => boolean) => {
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
      const next = rows.length < limit ? undefined : rows.at(-1)?.number;
      return { removed, removedLinks, next };
    },
  );

  return {
    feed: (stream?: string) => readFeed(db, stream),
    /**
     * Stores records that are newer than the stored ones, and the state of a stream; returns how
     * many were newer.
     */
    write(changes: readonly Change[], feed: FeedState, stream?: string): number {
      const { changed, added } = write.immediate(changes, feed, stream);
      links += added;
      return changed;
    },
    /** Number of links in the store. */
    links: (): number => links,
    /**
     * Removes links older than an epoch among the next `limit` rows after a number, by which rows
     * are in order. Returns the number to continue after; undefined at the end.
     */
    sweep(
      epoch: number,
      after: number,
      limit: number,
      kept: (key: string) => boolean = () => false,
    ): { removed: number; next: number | undefined } {
      const { removedLinks, ...swept } = sweep.immediate(epoch, after, limit, kept);
      links -= removedLinks;
      return swept;
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
}

/** Opens or creates the file; reserves space for changes, or uses a small log on a full disk. */
export function prepareDatabase(dir: string, reserveBytes: number): Database {
  makeFolder(dir);
  // It contains hashes of passwords. SQLite's companion files get the same permissions.
  closeSync(openSync(storePath(dir), "a", 0o600));
  const db = new Database(storePath(dir), { create: true, readwrite: true, strict: true });
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Before the journal's mode, which fixes the size of pages.
  db.run(SCHEMA);
  db.run("PRAGMA journal_mode = WAL");
  // After a power failure the last transactions may be missing, with their position: the feed
  // delivers them again.
  db.run("PRAGMA synchronous = NORMAL");
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  db.run(`PRAGMA journal_size_limit = ${WAL_BYTES}`);
  const hasRoom = keepReserve(dir, reserveBytes);
  const logBytes = hasRoom ? WAL_BYTES : WAL_BYTES_SCARCE;
  db.run(`PRAGMA wal_autocheckpoint = ${logBytes / PAGE_BYTES}`);
  // Changes need the space of a larger log.
  if (!hasRoom) db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return db;
}

const prepareStatements = (db: Database) => ({
  note: db.prepare<undefined, [string]>("INSERT INTO changes (key) VALUES (?)"),
  trim: db.prepare<undefined, [number]>(
    "DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - ?",
  ),
  olderThan: db.prepare<{ number: number; key: string; version: number }, [number, number]>(
    "SELECT number, key, version FROM links WHERE number > ? ORDER BY number LIMIT ?",
  ),
});

const byKey = (a: Change, b: Change): number => (a.key < b.key ? -1 : Number(a.key > b.key));

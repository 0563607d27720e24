/**
 * The links store of a host: the writer, which writes the states of entries and what the store then
 * has of the links log in one transaction; readers, which also list what has changed, so that a
 * process updates its links in memory; and the scrub, which looks for damage.
 */
import { Database, type Statement } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import {
  type Change,
  DamagedRecordError,
  decodeStoredRecord,
  type LogState,
  MalformedRecordError,
  PAGE_BYTES,
  prepareReplace,
  readLogState,
  type Replaced,
  SCHEMA,
  setLogState,
} from "../../shared/links-store/schema.ts";
import {
  damageMarkPath,
  inodeOf,
  isDamage,
  keepReserve,
  makeFolder,
  storePath,
} from "./store-files.ts";

/** Changes that readers can apply one by one; a reader further behind clears its memory. */
export const CHANGES_KEPT = 100_000;

/** Keys of one row of changes. A reader applies them in one turn, so they are not many. */
const KEYS_OF_ROW = 20;

/** Memory of the writer for pages, in KiB: more than all inner pages of ten million links. */
const WRITER_CACHE_KIB = 16 * 1024;

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

/** The state of the log that a writer passes; the store itself counts links and sets obstacles. */
export type Written = Omit<LogState, "links" | "obstacle">;

export class LogStore implements Disposable {
  readonly dir: string;
  readonly #inode: number | undefined;
  readonly #db: Database;
  readonly #replace: (change: Change) => Replaced;
  readonly #lastChange: Statement<{ last: number | null }, []>;
  readonly #note: Statement<undefined, [number, string]>;
  readonly #trim: Statement<undefined, [number]>;
  #state: LogState;
  #reader: StoreReader | undefined;
  #scrub: StoreScrub | undefined;

  /**
   * Opens or creates the store of a folder, whose lock the caller has; throws when the file is
   * damaged or the disk is full. Tests that open many stores reserve no space.
   */
  constructor(dir: string, reserveBytes = RESERVE_BYTES) {
    this.dir = dir;
    this.#db = openDatabase(dir, reserveBytes);
    this.#inode = inodeOf(dir);
    this.#replace = prepareReplace(this.#db);
    this.#lastChange = this.#db.prepare("SELECT max(number) AS last FROM changes");
    this.#note = this.#db.prepare("INSERT INTO changes VALUES (?, ?)");
    this.#trim = this.#db.prepare("DELETE FROM changes WHERE number <= ?");
    this.#state = readLogState(this.#db);
  }

  /** What the store has of the log. */
  get state(): LogState {
    return this.#state;
  }

  /** Writes changes, of each link the last one, and the state of the log after them. */
  write(changes: readonly Change[], state: Written): void {
    const sorted = lastOfEach(changes);
    const written = this.#db.transaction(() => {
      let { links } = this.#state;
      const keys: string[] = [];
      for (const change of sorted) {
        const replaced = this.#replace(change);
        links += replaced.links;
        if (replaced.isWritten) keys.push(change.key);
      }
      this.#listChanges(keys);
      const next = { ...state, links, obstacle: this.#state.obstacle };
      setLogState(this.#db, next);
      return next;
    });
    this.#state = written.immediate();
  }

  /** Lists for readers what was written. Keys have no control characters. */
  #listChanges(keys: readonly string[]): void {
    if (keys.length === 0) return;
    let number = this.#lastChange.get()?.last ?? 0;
    for (let at = 0; at < keys.length; at += KEYS_OF_ROW) {
      const part = keys.slice(at, at + KEYS_OF_ROW);
      number += part.length;
      this.#note.run(number, part.join("\n"));
    }
    this.#trim.run(number - CHANGES_KEPT);
  }

  /** Says what the host waits for to have all entries; null for nothing. */
  setObstacle(obstacle: string | null): void {
    if (obstacle === this.#state.obstacle) return;
    const state = { ...this.#state, obstacle };
    setLogState(this.#db, state);
    this.#state = state;
  }

  /**
   * Throws when the store must not be written any more, as it was deleted, or as somebody found it
   * damaged: a reader, or this check, which reads some rows each time.
   */
  check(): void {
    if (inodeOf(this.dir) !== this.#inode) throw new Error("The links store was deleted.");
    this.#reader ??= new StoreReader(this.dir);
    this.#scrub ??= new StoreScrub(this.#reader);
    if (this.#scrub.findsDamage() || existsSync(damageMarkPath(this.dir)))
      throw new DamagedRecordError("The links store is damaged.");
  }

  [Symbol.dispose](): void {
    this.#reader?.close();
    this.#db.close();
  }
}

/** The last change of each key in the order of the index, so that each page is changed once. */
function lastOfEach(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>();
  for (const change of changes)
    if (!change.isMalformed || !last.has(change.key)) last.set(change.key, change);
  return [...last.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** Opens or creates the file; reserves space for changes, or uses a small log on a full disk. */
function openDatabase(dir: string, reserveBytes: number): Database {
  makeFolder(dir);
  // It contains hashes of passwords. SQLite's companion files get the same permissions.
  closeSync(openSync(storePath(dir), "a", 0o600));
  const db = new Database(storePath(dir), { create: true, readwrite: true, strict: true });
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Before the journal's mode, which fixes the size of pages.
  db.run(SCHEMA);
  db.run("PRAGMA journal_mode = WAL");
  // After a power failure the last transactions may be missing, with what they say of the log: the
  // tail delivers their entries again.
  db.run("PRAGMA synchronous = NORMAL");
  db.run(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  db.run(`PRAGMA journal_size_limit = ${WAL_BYTES}`);
  const hasRoom = keepReserve(dir, reserveBytes);
  const logBytes = hasRoom ? WAL_BYTES : WAL_BYTES_SCARCE;
  db.run(`PRAGMA wal_autocheckpoint = ${logBytes / PAGE_BYTES}`);
  // Changes need the space of a larger log.
  if (!hasRoom) db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return db;
}

/** Memory of a reader for pages, in KiB; the system's page cache holds the rest of the file. */
const READER_CACHE_KIB = 2 * 1024;

/**
 * Reads a store. Each call is one short statement or transaction, so that no reader blocks the
 * checkpoint of the write-ahead log.
 */
export class StoreReader implements Disposable {
  readonly #db: Database;
  readonly #find: Statement<{ number: number; record: Uint8Array }, [string]>;
  readonly #rowsAfter: Statement<{ number: number; key: string }, [number, number]>;
  readonly #dataVersion: Statement<{ data_version: number }, []>;
  readonly #lastChange: Statement<{ last: number | null }, []>;
  readonly #changesAfter: Statement<{ number: number; keys: string; last: number }, [number]>;

  /** Opens the store of a folder; throws while there is none. */
  constructor(dir: string) {
    const db = new Database(storePath(dir), { readwrite: true, create: false, strict: true });
    this.#db = db;
    db.run("PRAGMA busy_timeout = 0");
    db.run(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
    db.run("PRAGMA query_only = 1");
    this.#find = db.prepare("SELECT number, record FROM links WHERE key = ?");
    this.#rowsAfter = db.prepare(
      "SELECT number, key FROM links WHERE number > ? ORDER BY number LIMIT ?",
    );
    this.#dataVersion = db.prepare("PRAGMA data_version");
    this.#lastChange = db.prepare("SELECT max(number) AS last FROM changes");
    this.#changesAfter = db.prepare(
      "SELECT number, keys, (SELECT max(number) FROM changes) AS last FROM changes WHERE number > ? ORDER BY number LIMIT 1",
    );
  }

  /**
   * Runs some calls on the store as it is now. After each transaction of the writer, SQLite reads
   * all pages again: here once for all of the calls.
   */
  together<Result>(calls: () => Result): Result {
    return this.#db.transaction(calls)();
  }

  state(): LogState {
    return readLogState(this.#db);
  }

  /** Finds the record of a link or notice; throws as `decodeStoredRecord` does. */
  find(domain: string, alias: string): LinkRecord | undefined {
    const key = keyOf({ domain, alias });
    const row = this.#find.get(key);
    return row === null ? undefined : decodeRow(key, row.record);
  }

  /**
   * Reads the next `limit` rows after a number, by which rows are in order, and each again by its
   * key, as `find` does. Throws when one is not found, or as `find` does. Returns the number to
   * continue after; undefined at the end.
   */
  verify(after: number, limit: number): number | undefined {
    const rows = this.#rowsAfter.all(after, limit);
    for (const { number, key } of rows) {
      const row = this.#find.get(key);
      if (row?.number !== number)
        throw new DamagedRecordError("The index of the links store lacks a row.");
      verifyRow(key, row.record);
    }
    return rows.length < limit ? undefined : rows.at(-1)?.number;
  }

  /** Changes after each transaction of the writer. */
  dataVersion(): number {
    return this.#dataVersion.get()?.data_version ?? 0;
  }

  lastChange(): number {
    return this.#lastChange.get()?.last ?? 0;
  }

  /**
   * The next keys that changed after the last one of some, and the number of the last of them; none
   * at the end, and undefined when some are no longer listed.
   */
  changesAfter(number: number): { keys: readonly string[]; number: number } | undefined {
    const row = this.#changesAfter.get(number);
    if (row === null) return { keys: [], number };
    if (row.last - number > CHANGES_KEPT) return undefined;
    return { keys: row.keys.split("\n"), number: row.number };
  }

  close(): void {
    this.#db.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Throws unless the record of a key is whole. The log itself may have a malformed one. */
function verifyRow(key: string, record: Uint8Array): void {
  try {
    decodeRow(key, record);
  } catch (error) {
    if (!(error instanceof MalformedRecordError)) throw error;
  }
}

function decodeRow(key: string, record: Uint8Array): LinkRecord {
  const decoded = decodeStoredRecord(record);
  // The index of keys has no checksums: a damaged entry leads to another row, which is whole.
  if (keyOf(decoded) !== key)
    throw new DamagedRecordError("The links store has another link under this key.");
  return decoded;
}

/** Rows that are read in one turn, and the pause after it: ten million rows in a day or less. */
const ROWS = 200;
const INTERVAL_MS = 1_000;

/** Rows of one statement. On a slow disk a turn ends once it has taken {@link TURN_MS}. */
const STATEMENT_ROWS = 20;
const TURN_MS = 20;

/**
 * Reads every row of the links store again and again, as a disk can damage what no visitor asks
 * for. SQLite has no checksums: a damaged entry in the index of keys would make a link 404, while
 * everything seems well.
 */
export class StoreScrub {
  readonly #reader: StoreReader;
  readonly #now: () => number;
  #after = 0;
  #dueAt: number;

  /**
   * `reader` must have a connection of its own: that of the writer has its pages in memory,
   * whatever the disk does.
   */
  constructor(reader: StoreReader, now = () => performance.now()) {
    this.#reader = reader;
    this.#now = now;
    this.#dueAt = now();
  }

  /** Reads some rows if it is time to; returns whether the store is damaged. */
  findsDamage(): boolean {
    const startedAt = this.#now();
    if (startedAt < this.#dueAt) return false;
    this.#dueAt = startedAt + INTERVAL_MS;
    try {
      for (let read = 0; read < ROWS; read += STATEMENT_ROWS) {
        this.#after = this.#reader.verify(this.#after, STATEMENT_ROWS) ?? 0;
        if (this.#after === 0 || this.#now() - startedAt >= TURN_MS) break;
      }
      return false;
    } catch (error) {
      // All else, as a checkpoint that has the file for itself, is over the next time.
      return isDamage(error);
    }
  }
}

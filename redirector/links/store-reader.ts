/**
 * Reads the links store, and the list of changes by which a process updates its links in memory.
 */
import { Database, type Statement } from "bun:sqlite";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import {
  DamagedRecordError,
  decodeStoredRecord,
  type LogState,
  MalformedRecordError,
  readLogState,
} from "../../shared/links-store/schema.ts";
import { storePath } from "./store-files.ts";

/** Memory for pages, in KiB; the system's page cache holds the rest of the file. */
const CACHE_KIB = 2 * 1024;

/** Changes since the reader's last call: the short links, or undefined for too many. */
export type Changes = { keys: readonly string[]; number: number } | undefined;

/**
 * Reads a store. Each call is one short statement, so that no reader blocks the checkpoint of the
 * write-ahead log.
 */
export class StoreReader implements Disposable {
  readonly #db: Database;
  readonly #find: Statement<{ number: number; record: Uint8Array }, [string]>;
  readonly #rowsAfter: Statement<{ number: number; key: string }, [number, number]>;
  readonly #dataVersion: Statement<{ data_version: number }, []>;
  readonly #bounds: Statement<{ first: number | null; last: number | null }, []>;
  readonly #since: Statement<{ key: string; number: number }, [number, number]>;

  /** Opens the store of a folder; throws while there is none. */
  constructor(dir: string) {
    const db = new Database(storePath(dir), { readwrite: true, create: false, strict: true });
    this.#db = db;
    db.run("PRAGMA busy_timeout = 0");
    db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.run("PRAGMA query_only = 1");
    this.#find = db.prepare("SELECT number, record FROM links WHERE key = ?");
    this.#rowsAfter = db.prepare(
      "SELECT number, key FROM links WHERE number > ? ORDER BY number LIMIT ?",
    );
    this.#dataVersion = db.prepare("PRAGMA data_version");
    this.#bounds = db.prepare(
      "SELECT (SELECT min(number) FROM changes) AS first, (SELECT max(number) FROM changes) AS last",
    );
    this.#since = db.prepare(
      "SELECT key, number FROM changes WHERE number > ? ORDER BY number LIMIT ?",
    );
  }

  /** What the store has of the links log. */
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

  /** The number of the last change. */
  lastChange(): number {
    return this.#bounds.get()?.last ?? 0;
  }

  /**
   * The next `limit` keys changed after a change number; undefined when some of them are no longer
   * listed.
   */
  changesSince(number: number, limit: number): Changes {
    const first = this.#bounds.get()?.first ?? 1;
    if (first > number + 1) return undefined;
    const rows = this.#since.all(number, limit);
    return { keys: rows.map(({ key }) => key), number: rows.at(-1)?.number ?? number };
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

/** Decodes the record of a key. */
function decodeRow(key: string, record: Uint8Array): LinkRecord {
  const decoded = decodeStoredRecord(record);
  // The index of keys has no checksums: a damaged entry leads to another row, which is whole.
  if (keyOf(decoded) !== key)
    throw new DamagedRecordError("The links store has another link under this key.");
  return decoded;
}

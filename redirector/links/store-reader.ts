/**
 * Reads the links store, and the list of changes by which a process updates its links in memory.
 */
import { Database } from "bun:sqlite";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import { readLogState } from "../../shared/links-store/log-state.ts";
import {
  DamagedRecordError,
  decodeStoredRecord,
  MalformedRecordError,
} from "../../shared/links-store/stored-record.ts";
import { storePath } from "./store-files.ts";

/** Memory for pages, in KiB; the system's page cache holds the rest of the file. */
const CACHE_KIB = 2 * 1024;

/** Changes since the reader's last call: the short links, or undefined for too many. */
export type Changes = { keys: readonly string[]; number: number } | undefined;

export type StoreReader = ReturnType<typeof openReader>;

/**
 * Opens the store for reading; throws while there is none. Each call is one short statement, so
 * that no reader blocks the checkpoint of the write-ahead log.
 */
export function openReader(dir: string) {
  const db = new Database(storePath(dir), { readwrite: true, create: false, strict: true });
  db.run("PRAGMA busy_timeout = 0");
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
  db.run("PRAGMA query_only = 1");
  const find = db.prepare<{ number: number; record: Uint8Array }, [string]>(
    "SELECT number, record FROM links WHERE key = ?",
  );
  const rowsAfter = db.prepare<{ number: number; key: string }, [number, number]>(
    "SELECT number, key FROM links WHERE number > ? ORDER BY number LIMIT ?",
  );
  const dataVersion = db.prepare<{ data_version: number }, []>("PRAGMA data_version");
  const bounds = db.prepare<{ first: number | null; last: number | null }, []>(
    "SELECT (SELECT min(number) FROM changes) AS first, (SELECT max(number) FROM changes) AS last",
  );
  const since = db.prepare<{ key: string; number: number }, [number, number]>(
    "SELECT key, number FROM changes WHERE number > ? ORDER BY number LIMIT ?",
  );

  return {
    /** What the store has of the links log. */
    state: () => readLogState(db),
    /** Finds the record of a link or notice; throws as `decodeStoredRecord` does. */
    find(domain: string, alias: string): LinkRecord | undefined {
      const key = keyOf({ domain, alias });
      const row = find.get(key);
      return row === null ? undefined : decodeRow(key, row.record);
    },
    /**
     * Reads the next `limit` rows after a number, by which rows are in order, and each again by its
     * key, as `find` does. Throws when one is not found, or as `find` does. Returns the number to
     * continue after; undefined at the end.
     */
    verify(after: number, limit: number): number | undefined {
      const rows = rowsAfter.all(after, limit);
      for (const { number, key } of rows) {
        const row = find.get(key);
        if (row?.number !== number)
          throw new DamagedRecordError("The index of the links store lacks a row.");
        verifyRow(key, row.record);
      }
      return rows.length < limit ? undefined : rows.at(-1)?.number;
    },
    /** Changes after each transaction of the writer. */
    dataVersion: (): number => dataVersion.get()?.data_version ?? 0,
    /** The number of the last change. */
    lastChange: (): number => bounds.get()?.last ?? 0,
    /**
     * The next `limit` keys changed after a change number; undefined when some of them are no
     * longer listed.
     */
    changesSince(number: number, limit: number): Changes {
      const first = bounds.get()?.first ?? 1;
      if (first > number + 1) return undefined;
      const rows = since.all(number, limit);
      return { keys: rows.map(({ key }) => key), number: rows.at(-1)?.number ?? number };
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
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

/**
 * What the links store was compared with: the store itself, and LMDB with the same rows in the same
 * transactions.
 */
import { statSync } from "node:fs";
import { join } from "node:path";

import { open } from "lmdb";

import { storePath } from "../../redirector/links/store-files.ts";
import { CHANGES_KEPT, LogStore, StoreReader } from "../../redirector/links/store.ts";
import { type Change, decodeStoredRecord, EMPTY_LOG } from "../../shared/links-store/schema.ts";

type Writer = { write: (changes: readonly Change[], sequence: number) => void } & AsyncDisposable;
type Reader = { find: (alias: string) => unknown; close: () => Promise<void> };

export type Candidate = {
  name: string;
  openWriter: (dir: string) => Writer;
  openReader: (dir: string) => Reader;
  /** Its size on disk. */
  bytes: (dir: string) => number;
};

const stateAt = (sequence: number) => ({ ...EMPTY_LOG, sequence });

const SQLITE: Candidate = {
  name: "bun:sqlite",
  openWriter(dir) {
    const store = new LogStore(dir);
    return {
      write: (changes, sequence) => store.write(changes, stateAt(sequence)),
      [Symbol.asyncDispose]: async () => store[Symbol.dispose](),
    };
  },
  openReader(dir) {
    const store = new StoreReader(dir);
    return { find: (alias) => store.find("", alias), close: async () => store.close() };
  },
  bytes: (dir) => statSync(storePath(dir)).size,
};

const lmdbPath = (dir: string): string => join(dir, "links.mdb");

/** The row's length: under Bun what is read is longer than what was written. */
const HEADER_BYTES = 4;

const LMDB: Candidate = {
  name: "lmdb",
  openWriter(dir) {
    // The store does not sync each transaction either. A power failure may damage this file, which
    // is in LMDB's favour.
    const db = open<Buffer | string, string | number>({
      path: lmdbPath(dir),
      encoding: "binary",
      noSync: true,
    });
    /** Of an entry in the list of changes: numbers are other keys than texts. */
    let number = 0;
    return {
      write(changes, sequence) {
        db.transactionSync(() => {
          for (const { key, row } of changes) {
            const value = Buffer.allocUnsafe(HEADER_BYTES + row.length);
            value.writeUInt32LE(row.length);
            row.copy(value, HEADER_BYTES);
            void db.put(key, value);
            void db.put(number, Buffer.from(key));
            if (number >= CHANGES_KEPT) void db.remove(number - CHANGES_KEPT);
            number++;
          }
          void db.put("@log", Buffer.from(JSON.stringify(stateAt(sequence))));
        });
      },
      [Symbol.asyncDispose]: () => db.close(),
    };
  },
  openReader(dir) {
    const db = open<Buffer, string>({ path: lmdbPath(dir), encoding: "binary", readOnly: true });
    return {
      find(alias) {
        const value = db.getBinaryFast(`/${alias}`);
        if (value === undefined) return undefined;
        const end = HEADER_BYTES + value.readUInt32LE();
        return decodeStoredRecord(value.subarray(HEADER_BYTES, end));
      },
      close: () => db.close(),
    };
  },
  bytes: (dir) => statSync(lmdbPath(dir)).size,
};

export const CANDIDATES: readonly Candidate[] = [SQLITE, LMDB];

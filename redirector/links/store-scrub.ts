/**
 * Reads every row of the links store again and again, as a disk can damage what no visitor asks
 * for. SQLite has no checksums: a damaged entry in the index of keys would make a link 404, while
 * everything seems well.
 */
import { keyOf } from "../../shared/contracts/short-link.ts";
import {
  decodeStoredRecord,
  MalformedRecordError,
} from "../../shared/links-store/stored-record.ts";
import { isDamage } from "./store-files.ts";
import type { StoreWriter } from "./store-writer.ts";

/** Rows that are read in one turn, and the pause after it: ten million rows in 28 hours. */
const ROWS = 100;
const INTERVAL_MS = 1_000;

/** Rows of one statement. On a slow disk a turn ends once it has taken {@link TURN_MS}. */
const STATEMENT_ROWS = 10;
const TURN_MS = 5;

type Rows = Pick<StoreWriter, "rowsAfter" | "find">;

export function createScrub(store: Rows, now: () => number = () => performance.now()) {
  let after = 0;
  let dueAt = now();

  /** Reads the next rows; returns whether all are as they were written. */
  function readRows(): boolean {
    const rows = store.rowsAfter(after, STATEMENT_ROWS);
    after = rows.length < STATEMENT_ROWS ? 0 : (rows.at(-1)?.number ?? 0);
    return rows.every(({ number, key }) => {
      const found = store.find(key);
      return found !== undefined && found.number === number && isRecordOf(key, found.record);
    });
  }

  return {
    /** Reads some rows if it is time to; returns whether the store is damaged. */
    findsDamage(): boolean {
      const startedAt = now();
      if (startedAt < dueAt) return false;
      try {
        for (let read = 0; read < ROWS; read += STATEMENT_ROWS) {
          if (!readRows()) return true;
          if (after === 0 || now() - startedAt >= TURN_MS) break;
        }
      } catch (error) {
        if (isDamage(error)) return true;
        throw error;
      }
      dueAt = now() + INTERVAL_MS;
      return false;
    },
  };
}

/** Whether a record is whole, and that of the key. Throws when it is damaged. */
function isRecordOf(key: string, record: Uint8Array): boolean {
  try {
    return keyOf(decodeStoredRecord(record)) === key;
  } catch (error) {
    // So it came from the feed.
    if (error instanceof MalformedRecordError) return true;
    throw error;
  }
}

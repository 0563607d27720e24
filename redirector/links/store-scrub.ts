/**
 * Reads every row of the links store again and again, as a disk can damage what no visitor asks
 * for. SQLite has no checksums: a damaged entry in the index of keys would make a link 404, while
 * everything seems well.
 */
import { isDamage } from "./store-files.ts";
import type { StoreReader } from "./store-reader.ts";

/** Rows that are read in one turn, and the pause after it: ten million rows in a day or less. */
const ROWS = 200;
const INTERVAL_MS = 1_000;

/** Rows of one statement. On a slow disk a turn ends once it has taken {@link TURN_MS}. */
const STATEMENT_ROWS = 20;
const TURN_MS = 20;

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

/**
 * Writes the links store as the links log says: the states of entries, and what the store then has
 * of the log, in one transaction.
 */
import type { Database, Statement } from "bun:sqlite";

import {
  LOG_SCHEMA,
  type LogState,
  prepareReplace,
  readLogState,
  setLogState,
} from "../../shared/links-store/log-state.ts";
import type { Change } from "../../shared/links-store/schema.ts";
import { CHANGES_KEPT, prepareDatabase, RESERVE_BYTES } from "./store-writer.ts";

export class LogStore implements Disposable {
  readonly #db: Database;
  readonly #replace: (change: Change) => number;
  readonly #note: Statement<undefined, [string]>;
  readonly #trim: Statement<undefined, [number]>;
  #state: LogState;

  /**
   * Opens or creates the store of a folder, whose lock the caller has. Tests that open many stores
   * reserve no space.
   */
  constructor(dir: string, reserveBytes = RESERVE_BYTES) {
    this.#db = prepareDatabase(dir, reserveBytes);
    this.#db.run(LOG_SCHEMA);
    this.#replace = prepareReplace(this.#db);
    this.#note = this.#db.prepare("INSERT INTO changes (key) VALUES (?)");
    this.#trim = this.#db.prepare(
      "DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - ?",
    );
    this.#state = readLogState(this.#db);
  }

  /** What the store has of the log. */
  get state(): LogState {
    return this.#state;
  }

  /** Writes changes, of each link the last one, and the state of the log after them. */
  write(changes: readonly Change[], state: Omit<LogState, "links">): void {
    const last = new Map(changes.map((change) => [change.key, change]));
    // In the order of the index, so that each of its pages is changed once.
    const sorted = [...last.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const written = this.#db.transaction(() => {
      let { links } = this.#state;
      for (const change of sorted) {
        links += this.#replace(change);
        this.#note.run(change.key);
      }
      if (sorted.length > 0) this.#trim.run(CHANGES_KEPT);
      const next = { ...state, links };
      setLogState(this.#db, next);
      return next;
    });
    this.#state = written.immediate();
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

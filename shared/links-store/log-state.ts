/**
 * What a links store knows of the links log: the row beside the links, which changes only in the
 * transactions that write entries.
 */
import type { Database } from "bun:sqlite";

import { EMPTY_STORE, type StoreState } from "../links-log/decisions.ts";
import { type Change, IS_LINK } from "./schema.ts";
import { DamagedRecordError, isLinkRow } from "./stored-record.ts";

export type LogState = StoreState & {
  /**
   * The last sequence of the tail that was read. Only a hint: a stream that is made again, or comes
   * back older, has other entries there.
   */
  sequence: number;
  /** Whether the store ended where PostgreSQL does: a link that it lacks does not exist. */
  isCurrent: boolean;
  /** Number of links in the store. */
  links: number;
};

const EMPTY_LOG: LogState = { ...EMPTY_STORE, sequence: 0, isCurrent: false, links: 0 };

export const LOG_SCHEMA = `
  CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`;

/** Reads the state; that of an empty store before the first entry. */
export function readLogState(db: Database): LogState {
  const row = db.query<{ state: string }, []>("SELECT state FROM log").get();
  if (row === null) return EMPTY_LOG;
  try {
    const state: Partial<LogState> = JSON.parse(row.state);
    return { ...EMPTY_LOG, ...state };
  } catch (error) {
    throw new DamagedRecordError("The state of the links log is no JSON.", { cause: error });
  }
}

export const setLogState = (db: Database, state: LogState): void =>
  void db
    .query<undefined, [string]>(
      "INSERT INTO log VALUES (1, ?) ON CONFLICT DO UPDATE SET state = excluded.state",
    )
    .run(JSON.stringify(state));

/**
 * Prepares the statement that writes a row, whatever the store has; each call returns the
 * difference in the number of links.
 */
export function prepareReplace(db: Database): (change: Change) => number {
  const find = db.prepare<{ number: number; is_link: number }, [string]>(
    `SELECT number, ${IS_LINK} AS is_link FROM links WHERE key = ?`,
  );
  const insert = db.prepare<undefined, [string, number, Uint8Array]>(
    "INSERT INTO links (key, version, record) VALUES (?, ?, ?)",
  );
  const update = db.prepare<undefined, [number, Uint8Array, number]>(
    "UPDATE links SET version = ?, record = ? WHERE number = ?",
  );
  return ({ key, version, row }) => {
    const before = find.get(key);
    if (before === null) insert.run(key, version, row);
    else update.run(version, row, before.number);
    return Number(isLinkRow(row)) - (before?.is_link ?? 0);
  };
}

/** The file of a links store: its tables and rows. */
import type { Database } from "bun:sqlite";

import type { LinkRecord } from "../contracts/link-record.ts";
import { keyOf, type ShortLink } from "../contracts/short-link.ts";
import { encodeMalformed, encodeStoredRecord, isLinkRow } from "./stored-record.ts";

/**
 * The format of the file, which names it, its lock and its snapshots: a version with another format
 * fills its own file.
 */
export const STORE_FORMAT = "links-2";

export const STORE_NAME = `${STORE_FORMAT}.sqlite`;

/** A row to write: the last state of a link or notice. */
export type Change = {
  key: string;
  row: Buffer;
  /** Whether the state is malformed: an existing row stays. */
  isMalformed: boolean;
};

/** The change by a record that was decoded from its state as JSON. */
export const toChange = (record: LinkRecord, state: Uint8Array): Change => ({
  key: keyOf(record),
  row: encodeStoredRecord(record, state),
  isMalformed: false,
});

/** The change by a malformed state of a link. */
export const toMalformed = (link: ShortLink): Change => ({
  key: keyOf(link),
  row: encodeMalformed(),
  isMalformed: true,
});

/**
 * The size of a page in a new file. A change of a random link writes a whole page, twice; a row
 * seldom needs half of one.
 */
export const PAGE_BYTES = 2048;

/**
 * Rows are in the order in which they came, so that new links fill page after page, whatever their
 * aliases. In a tree of keys each of them would change a page of its own, and inner pages would
 * have whole rows: too many for any cache.
 */
export const SCHEMA = `
  PRAGMA page_size = ${PAGE_BYTES};
  CREATE TABLE IF NOT EXISTS links (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`;

/** SQL condition for rows of links, neither deleted ones nor notices (see `stored-record.ts`). */
const IS_LINK = "substr(record, 5, 1) = x'00'";

/** The effect of a change: whether a row was written, and the difference in the number of links. */
export type Replaced = { isWritten: boolean; links: number };

/** Prepares the statements that write a change. */
export function prepareReplace(db: Database): (change: Change) => Replaced {
  const find = db.prepare<{ number: number; is_link: number }, [string]>(
    `SELECT number, ${IS_LINK} AS is_link FROM links WHERE key = ?`,
  );
  const insert = db.prepare<undefined, [string, Uint8Array]>(
    "INSERT INTO links (key, record) VALUES (?, ?)",
  );
  const update = db.prepare<undefined, [Uint8Array, number]>(
    "UPDATE links SET record = ? WHERE number = ?",
  );
  return ({ key, row, isMalformed }) => {
    const before = find.get(key);
    if (before === null) insert.run(key, row);
    else if (isMalformed) return { isWritten: false, links: 0 };
    else update.run(row, before.number);
    return { isWritten: true, links: Number(isLinkRow(row)) - (before?.is_link ?? 0) };
  };
}

/** The file of a links store: its tables, and its state of the links feed. */
import type { Database } from "bun:sqlite";

import type { LinkRecord } from "../contracts/link-record.ts";
import { UNDIVIDED } from "../contracts/links-streams.ts";
import { keyOf, type ShortLink } from "../contracts/short-link.ts";
import {
  DamagedRecordError,
  encodeMalformed,
  encodeStoredRecord,
  isLinkRow,
} from "./stored-record.ts";

/**
 * The format of the file, which names it, its lock and its images: a version with another format
 * fills its own file.
 */
export const STORE_FORMAT = "links-2";

export const STORE_NAME = `${STORE_FORMAT}.sqlite`;

/** The store's state of one stream of the feed. */
export type FeedState = {
  /** The creation time of the stream, which identifies it; null before the first one. */
  stream: string | null;
  /** Its last message that is in the store. */
  sequence: number;
  /** Whether the store has every link: a link that it lacks does not exist. */
  complete: boolean;
  /** The epoch of the feed (see `Heartbeat`). */
  epoch: number;
  /**
   * What the last heartbeat before the position announced of the stream: the position is valid as
   * long as the stream announces the same. null when there was none.
   */
  announced: { complete: boolean; epoch: number } | null;
  /** Time of the last heartbeat, in Unix milliseconds; 0 before the first one. */
  confirmed_at: number;
  /** Messages of the stream that are not in the store yet. */
  pending: number;
  /** Number of links that PostgreSQL has and the store lacks; 0 when that is unknown. */
  lacks: number;
  /**
   * Number of links in the store, updated with every change, and the state to which it belongs: a
   * version that does not count changes that state, but not this.
   */
  counted: { links: number; sequence: number; epoch: number } | null;
};

export const EMPTY_FEED: FeedState = {
  stream: null,
  sequence: 0,
  complete: false,
  epoch: 0,
  announced: null,
  confirmed_at: 0,
  pending: 0,
  lacks: 0,
  counted: null,
};

/** A row to write, unless the store has a row of the same or a higher version. */
export type Change = { key: string; version: number; row: Buffer };

/** The change by a record that was decoded from a message of the feed. */
export const toChange = (record: LinkRecord, message: Uint8Array): Change => ({
  key: keyOf(record),
  version: record.version,
  row: encodeStoredRecord(record, message),
});

/** The change by a malformed record of a link: an existing row of the link stays. */
export const toMalformed = (link: ShortLink): Change => ({
  key: keyOf(link),
  version: 0,
  row: encodeMalformed(),
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
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS feed (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`;

/** SQL condition for rows of links, neither deleted ones nor notices (see `stored-record.ts`). */
export const IS_LINK = "substr(record, 5, 1) = x'00'";

/**
 * The result of writing a change: whether the row changed, and the difference in the number of
 * links.
 */
export type WriteResult = { changed: boolean; links: number };

const NOT_WRITTEN: WriteResult = { changed: false, links: 0 };

/**
 * Prepares the statement that writes a change, unless the store has a row of the same or a higher
 * version.
 */
export function preparePut(db: Database): (change: Change) => WriteResult {
  const find = db.prepare<{ number: number; version: number; is_link: number }, [string]>(
    `SELECT number, version, ${IS_LINK} AS is_link FROM links WHERE key = ?`,
  );
  const insert = db.prepare<undefined, [string, number, Uint8Array]>(
    "INSERT INTO links (key, version, record) VALUES (?, ?, ?)",
  );
  const update = db.prepare<undefined, [number, Uint8Array, number]>(
    "UPDATE links SET version = ?, record = ? WHERE number = ?",
  );
  return ({ key, version, row }) => {
    const before = find.get(key);
    const isLink = Number(isLinkRow(row));
    if (before === null) {
      insert.run(key, version, row);
      return { changed: true, links: isLink };
    }
    if (before.version >= version) return NOT_WRITTEN;
    update.run(version, row, before.number);
    return { changed: true, links: isLink - before.is_link };
  };
}

/** Prepares the statement that removes a row: each call returns the number of removed links. */
export function prepareRemove(db: Database): (key: string) => number {
  const remove = db.prepare<{ is_link: number }, [string]>(
    `DELETE FROM links WHERE key = ? RETURNING ${IS_LINK} AS is_link`,
  );
  return (key) => remove.get(key)?.is_link ?? 0;
}

/**
 * The number of links in a store: the counted one, or else a new count, which takes seconds for ten
 * million.
 */
export function countLinks(db: Database): number {
  const { counted, sequence, epoch } = readFeed(db);
  if (counted?.sequence === sequence && counted.epoch === epoch) return counted.links;
  const row = db.query<{ links: number }, []>(
    `SELECT count(*) AS links FROM links WHERE ${IS_LINK}`,
  );
  return row.get()?.links ?? 0;
}

/**
 * The row of the feed: the state of the stream `LINKS`, and in further members the states of the
 * streams of a divided feed, by name. Versions without a divided feed keep these unchanged.
 */
type FeedRow = FeedState & { streams?: Readonly<Record<string, Partial<FeedState>>> };

function readRow(db: Database): FeedRow {
  const row = db.query<{ state: string }, []>("SELECT state FROM feed").get();
  return row === null ? EMPTY_FEED : { ...EMPTY_FEED, ...parseState(row.state) };
}

function parseState(state: string): object {
  try {
    return JSON.parse(state);
  } catch (error) {
    throw new DamagedRecordError("The state of the links feed is no JSON.", { cause: error });
  }
}

/** Reads the state of a stream from a store. */
export function readFeed(db: Database, name: string = UNDIVIDED.name): FeedState {
  const { streams = {}, ...undivided } = readRow(db);
  return name === UNDIVIDED.name ? undivided : { ...EMPTY_FEED, ...streams[name] };
}

/** Writes the state of a stream to a store, and the number of links in the store. */
export function setFeed(
  db: Database,
  state: FeedState,
  links: number,
  name: string = UNDIVIDED.name,
): void {
  const { streams, ...undivided } = readRow(db);
  const row: FeedRow =
    name === UNDIVIDED.name
      ? { ...state, ...(streams === undefined ? {} : { streams }) }
      : { ...undivided, streams: { ...streams, [name]: state } };
  const { sequence, epoch } = row;
  const statement =
    "INSERT INTO feed VALUES (1, ?) ON CONFLICT DO UPDATE SET state = excluded.state";
  db.query<undefined, [string]>(statement).run(
    JSON.stringify({ ...row, counted: { links, sequence, epoch } }),
  );
}

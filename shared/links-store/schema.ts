/** The file of a links store: its tables, and what it knows of the links feed. */
import type { Database } from "bun:sqlite";

import type { LinkRecord } from "../contracts/link-record.ts";
import { UNDIVIDED } from "../contracts/links-streams.ts";
import { keyOf } from "./record.ts";
import { encodeMalformed, encodeStoredRecord, isLinkRow } from "./stored-record.ts";

/** The format of the file is part of its name: another version that has another format fills a file of its own. */
export const STORE_NAME = "links-1.sqlite";

/** The state of a stream of the feed that the store has. */
export type FeedState = {
  /** The stream, by its creation time; null before the first one. */
  stream: string | null;
  /** Its last message that is in the store. */
  sequence: number;
  /** Whether the store has every link: what it lacks does not exist. */
  complete: boolean;
  /** The epoch of the feed whose links it has (see `Heartbeat`). */
  epoch: number;
  /** When the last heartbeat came, in Unix milliseconds; 0 before the first one. */
  confirmed_at: number;
  /** Messages of the stream that are not in the store yet. */
  pending: number;
  /** How many links the store has fewer than PostgreSQL; 0 when it has all, or when that is not known. */
  lacks: number;
  /**
   * How many links the store has, as counted with every change, and the state at which it was: a version that does not count
   * changes that state, but not this.
   */
  counted: { links: number; sequence: number; epoch: number } | null;
};

export const EMPTY_FEED: FeedState = {
  stream: null,
  sequence: 0,
  complete: false,
  epoch: 0,
  confirmed_at: 0,
  pending: 0,
  lacks: 0,
  counted: null,
};

/** A row to write, unless the store has one of the same or a higher version. */
export type Change = { key: string; version: number; row: Buffer };

/** The change by a record, which was decoded from a message of the feed. */
export const toChange = (record: LinkRecord, message: Uint8Array): Change => ({
  key: keyOf(record),
  version: record.version,
  row: encodeStoredRecord(record, message),
});

/** The change by a malformed record of a link: what the store has of it stays, if it has anything. */
export const toMalformed = (link: Pick<LinkRecord, "domain" | "alias">): Change => ({
  key: keyOf(link),
  version: 0,
  row: encodeMalformed(),
});

export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS links (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS feed (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`;

/** Whether a row is that of a link, in SQL: neither of a deleted one, nor of a notice (see `stored-record.ts`). */
const IS_LINK = "substr(record, 5, 1) = x'00'";

/** What writing a change did: whether it changed the row, and how many links there are more. */
export type Written = { changed: boolean; links: number };

const NOT_WRITTEN: Written = { changed: false, links: 0 };

/** Prepares writing changes: each call writes one, unless the store has one of the same or a higher version. */
export function preparePut(db: Database): (change: Change) => Written {
  const find = db.prepare<{ version: number; is_link: number }, [string]>(
    `SELECT version, ${IS_LINK} AS is_link FROM links WHERE key = ?`,
  );
  const insert = db.prepare<undefined, [string, number, Uint8Array]>(
    "INSERT INTO links VALUES (?, ?, ?)",
  );
  const update = db.prepare<undefined, [number, Uint8Array, string]>(
    "UPDATE links SET version = ?, record = ? WHERE key = ?",
  );
  return ({ key, version, row }) => {
    const before = find.get(key);
    const isLink = Number(isLinkRow(row));
    if (before === null) {
      insert.run(key, version, row);
      return { changed: true, links: isLink };
    }
    if (before.version >= version) return NOT_WRITTEN;
    update.run(version, row, key);
    return { changed: true, links: isLink - before.is_link };
  };
}

/** Prepares removing rows: each call returns how many links there are fewer. */
export function prepareRemove(db: Database): (key: string) => number {
  const remove = db.prepare<{ is_link: number }, [string]>(
    `DELETE FROM links WHERE key = ? RETURNING ${IS_LINK} AS is_link`,
  );
  return (key) => remove.get(key)?.is_link ?? 0;
}

/** How many links a store has: as counted, or counted anew, which takes seconds for ten millions. */
export function countLinks(db: Database): number {
  const { counted, sequence, epoch } = readFeed(db);
  if (counted?.sequence === sequence && counted.epoch === epoch) return counted.links;
  const row = db.query<{ links: number }, []>(
    `SELECT count(*) AS links FROM links WHERE ${IS_LINK}`,
  );
  return row.get()?.links ?? 0;
}

/**
 * The row of the feed: the state of the stream `LINKS`, and beside it those of the streams of a divided feed, by their names.
 * Versions that know only the first take the others over as they are.
 */
type FeedRow = FeedState & { streams?: Readonly<Record<string, Partial<FeedState>>> };

function readRow(db: Database): FeedRow {
  const row = db.query<{ state: string }, []>("SELECT state FROM feed").get();
  return row === null ? EMPTY_FEED : { ...EMPTY_FEED, ...JSON.parse(row.state) };
}

/** Reads the state of a stream that a store has. */
export function readFeed(db: Database, name: string = UNDIVIDED.name): FeedState {
  const { streams = {}, ...undivided } = readRow(db);
  return name === UNDIVIDED.name ? undivided : { ...EMPTY_FEED, ...streams[name] };
}

/** Writes the state of a stream that a store has, and how many links the store has in all. */
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

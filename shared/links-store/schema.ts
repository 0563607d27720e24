/** The file of a links store: its tables, and what it knows of the links feed. */
import type { Database } from "bun:sqlite";

import type { LinkRecord } from "../contracts/link-record.ts";
import { keyOf } from "./record.ts";
import { encodeMalformed, encodeStoredRecord } from "./stored-record.ts";

/** The format of the file is part of its name: another version that has another format fills a file of its own. */
export const STORE_NAME = "links-1.sqlite";

/** The state of the feed that the store has. */
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
};

export const EMPTY_FEED: FeedState = {
  stream: null,
  sequence: 0,
  complete: false,
  epoch: 0,
  confirmed_at: 0,
  pending: 0,
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

/** Prepares writing changes: each call writes one, and returns how many rows that has changed, 0 or 1. */
export function preparePut(db: Database): (change: Change) => number {
  const put = db.prepare<undefined, [string, number, Uint8Array]>(
    `INSERT INTO links VALUES (?, ?, ?) ON CONFLICT DO UPDATE
     SET version = excluded.version, record = excluded.record WHERE excluded.version > version`,
  );
  return ({ key, version, row }) => put.run(key, version, row).changes;
}

/** Reads the state of the feed that a store has. */
export function readFeed(db: Database): FeedState {
  const row = db.query<{ state: string }, []>("SELECT state FROM feed").get();
  return row === null ? EMPTY_FEED : { ...EMPTY_FEED, ...JSON.parse(row.state) };
}

/** Writes the state of the feed that a store has. */
export function setFeed(db: Database, state: FeedState): void {
  const statement =
    "INSERT INTO feed VALUES (1, ?) ON CONFLICT DO UPDATE SET state = excluded.state";
  db.query<undefined, [string]>(statement).run(JSON.stringify(state));
}

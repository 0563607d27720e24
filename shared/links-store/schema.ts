/**
 * The file of a links store: its tables, its rows, and what it knows of the links log. A row is the
 * record of a short link with a checksum, so that a damaged disk never causes a redirect to a wrong
 * destination. A row keeps also the members that only a later version understands: during an
 * upgrade both versions use the store.
 *
 * A row, little-endian: u32 CRC-32 of what follows; u8 form; then
 *   form 0, a link: as `record.ts` writes it, then its other members, if any, as one JSON object
 *   form 1, all others (deleted links, links with settings that are not understood, notices): the
 *   state of the links log
 *   form 2, a link of which the log has only a malformed state: empty
 */
import type { Database } from "bun:sqlite";

import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkRecord,
  type LinkRecord,
} from "../contracts/link-record.ts";
import { keyOf, type ShortLink } from "../contracts/short-link.ts";
import { EMPTY_STORE, lacksEntries, type StoreState } from "../links-log/entries.ts";
import { ALIGNMENT, readRecord, sizeAt, sizeOf, withEncodedRules, writeRecord } from "./record.ts";

/**
 * The format of the file, which names it, its folders, its lock and its snapshots: a version with
 * another format fills its own file beside this one.
 */
export const STORE_FORMAT = "links-1";

export const STORE_NAME = `${STORE_FORMAT}.sqlite`;

/** A row to write: the last state of a link or notice. */
export type Change = {
  key: string;
  row: Buffer;
  /** Whether the state is malformed: an existing row stays. */
  isMalformed: boolean;
};

/** The change by a record; its state in the log may have members that are not understood. */
export const toChange = (record: LinkRecord, state?: Uint8Array): Change => ({
  key: keyOf(record),
  row: encodeStoredRecord(record, state),
  isMalformed: false,
});

/** The change by a malformed state of a link. */
export const toMalformed = (link: ShortLink): Change => ({
  key: keyOf(link),
  row: seal(encodeMessage(MALFORMED, new Uint8Array())),
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
 *
 * A row of changes has some keys, a line each, and the number of the last of them.
 */
export const TABLES = `
  PRAGMA page_size = ${PAGE_BYTES};
  CREATE TABLE IF NOT EXISTS links (number INTEGER PRIMARY KEY, key TEXT NOT NULL, record BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY, keys TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`;

/** Its writers look for a key before they add it. */
const INDEX = "CREATE INDEX IF NOT EXISTS links_by_key ON links (key)";

export const SCHEMA = `${TABLES}${INDEX}`;

/** SQL condition for rows of links, neither deleted ones nor notices. */
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
    return { isWritten: true, links: Number(row[FORM] === LINK) - (before?.is_link ?? 0) };
  };
}

/**
 * Prepares the statement that adds rows to {@link TABLES}, whatever they have of the same key.
 * Returns the number of links that it adds.
 */
export function prepareAdd(db: Database): (change: Change) => number {
  const add = db.prepare<undefined, [string, Uint8Array]>(
    "INSERT INTO links (key, record) VALUES (?, ?)",
  );
  return ({ key, row }) => {
    add.run(key, row);
    return Number(row[FORM] === LINK);
  };
}

/**
 * Completes {@link TABLES} with rows: of each key the last one stays. Returns the number of links
 * that go.
 */
export function indexRows(db: Database): number {
  db.run(INDEX);
  const gone = db.query<{ is_link: number }, []>(`
    DELETE FROM links WHERE number IN (
      SELECT links.number FROM links
        JOIN (SELECT key, max(number) AS last FROM links GROUP BY key HAVING count(*) > 1) twice
          ON twice.key = links.key AND links.number < last)
    RETURNING ${IS_LINK} AS is_link`);
  return gone.all().filter((row) => row.is_link === 1).length;
}

/**
 * Why something of the tail was skipped: a state is malformed, nobody signed a message, or it says
 * that it has another format.
 */
export type SkippedReason = "malformed" | "unsigned" | "other_format";

/** What a store knows of the log: a row, which only transactions that write entries change. */
export type LogState = StoreState & {
  /**
   * The last sequence of the tail that was read. Only a hint: a stream that is made again, or comes
   * back older, has other entries there.
   */
  sequence: number;
  /** Messages that the tail had after it. */
  pending: number;
  /** Whether the store ended where PostgreSQL does: a link that it lacks does not exist. */
  isCurrent: boolean;
  /** Whether the store has ever had all of the tail. Until then it is new, and being filled. */
  isFilled: boolean;
  /** What of the tail was skipped: states and messages, by reason. */
  skipped: Readonly<Record<SkippedReason, number>>;
  links: number;
  /** What the host waits for to have all entries, for operators; null when nothing is missing. */
  obstacle: string | null;
};

export const EMPTY_LOG: LogState = {
  ...EMPTY_STORE,
  sequence: 0,
  pending: 0,
  isCurrent: false,
  isFilled: false,
  skipped: { malformed: 0, unsigned: 0, other_format: 0 },
  links: 0,
  obstacle: null,
};

/** Whether the store has all links as they were at some time: it is a prefix of a history. */
export const isPrefix = (state: LogState): boolean =>
  state.head.position > 0 && !lacksEntries(state);

/** Whether the store has all links, and is no longer filled with what the tail had before. */
export const hasAllLinks = (state: LogState): boolean => state.isFilled && isPrefix(state);

/**
 * Whether a new store is still reading what the tail had before: its states are older than what
 * visitors may have seen, so nothing is served from it.
 */
export const isReplaying = ({ isFilled, head, pending }: LogState): boolean =>
  !isFilled && (head.position > 0 || pending > 0);

/** Reads the state; that of an empty store before the first entry. */
export function readLogState(db: Database): LogState {
  const row = db.query<{ state: string }, []>("SELECT state FROM log").get();
  if (row === null) return EMPTY_LOG;
  try {
    const state: LogState = JSON.parse(row.state);
    return state;
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

const FORM = 4;
const HEADER_BYTES = 5;

const LINK = 0;
const MESSAGE = 1;
const MALFORMED = 2;

/** A row is damaged: the store must not be used any more. */
export class DamagedRecordError extends Error {
  override name = "DamagedRecordError";
}

/** The log has a malformed state of a link: its existence and its destination are unknown. */
export class MalformedRecordError extends Error {
  override name = "MalformedRecordError";
}

/** Encodes a record, which was decoded from `message`, for the store. */
export function encodeStoredRecord(record: LinkRecord, message?: Uint8Array): Buffer {
  return seal(
    record.state === "active"
      ? encodeLink(withEncodedRules(record))
      : encodeMessage(MESSAGE, message ?? encodeLinkRecord(record)),
  );
}

function seal(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(Bun.hash.crc32(bytes.subarray(FORM)));
  return bytes;
}

/** Rows are parts of larger buffers: to make one of its own takes longer than to encode a row. */
const SLAB_BYTES = 256 * 1024;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

function allocate(size: number): Buffer {
  if (size > slab.length - used) {
    slab = Buffer.allocUnsafeSlow(Math.max(size, SLAB_BYTES));
    used = 0;
  }
  const start = used;
  used += size;
  return slab.subarray(start, used);
}

function encodeMessage(form: number, message: Uint8Array): Buffer {
  const bytes = allocate(HEADER_BYTES + message.length);
  bytes[FORM] = form;
  bytes.set(message, HEADER_BYTES);
  return bytes;
}

function encodeLink(record: ActiveLink): Buffer {
  const rest = restJson(record);
  const end = HEADER_BYTES + sizeOf(record);
  const bytes = allocate(end + Buffer.byteLength(rest));
  // The padding is zeros, so that equal records are equal rows.
  bytes.fill(0, end - ALIGNMENT, end);
  bytes[FORM] = LINK;
  writeRecord(bytes, HEADER_BYTES, record, false);
  bytes.write(rest, end);
  return bytes;
}

/** The members of a link that `record.ts` writes. */
const CACHED: ReadonlySet<string> = new Set<keyof ActiveLink>([
  "state",
  "version",
  "domain",
  "alias",
  "link_id",
  "account_id",
  "mode",
  "destination",
  "expires_at",
  "password_hash",
  "forward_query",
  "extras",
  "utm",
]);

/**
 * The members of a link that the cache lacks: those for pages about the link, and those of later
 * versions.
 */
function restJson(link: ActiveLink): string {
  if (Object.keys(link).every((name) => CACHED.has(name))) return "";
  return JSON.stringify(
    Object.fromEntries(Object.entries(link).filter(([name]) => !CACHED.has(name))),
  );
}

/**
 * Decodes a row. Throws a {@link DamagedRecordError} when it is damaged, and a {@link
 * MalformedRecordError} when the log has only a malformed state of the link.
 */
export function decodeStoredRecord(row: unknown): LinkRecord {
  // A column of a damaged page can have any type, whatever its table says.
  if (!(row instanceof Uint8Array))
    throw new DamagedRecordError("A row of the links store has no record.");
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.length);
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE() !== Bun.hash.crc32(bytes.subarray(FORM)))
    throw new DamagedRecordError("A row of the links store has another checksum.");
  if (bytes[FORM] === LINK) return decodeLink(bytes);
  if (bytes[FORM] === MALFORMED) throw new MalformedRecordError("The link's record is malformed.");
  const record = decodeLinkRecord(bytes.subarray(HEADER_BYTES));
  if (record === undefined) throw new DamagedRecordError("A row of the links store is no record.");
  return record;
}

function decodeLink(bytes: Buffer): LinkRecord {
  const record = readRecord(bytes, HEADER_BYTES);
  const end = HEADER_BYTES + sizeAt(bytes, HEADER_BYTES);
  if (end === bytes.length) return record;
  const rest: object = JSON.parse(bytes.toString("utf8", end));
  return { ...record, ...rest };
}

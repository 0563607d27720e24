/**
 * An entry of the links log: states of links, domains and takedowns, which every host applies as
 * one. An entry names the entry before it by the hash of its bytes, as a commit of Git does, so an
 * entry identifies all of the history that leads to it. The message in the tail is the entry's
 * bytes as PostgreSQL keeps them: whoever publishes an entry again publishes the same bytes.
 *
 * The bytes are lines of JSON: a header, and then each state. SQL writes them
 * (`number_link_log()`).
 */
import { createHash } from "node:crypto";

import { LINK_RECORD_BYTES_MAX } from "../contracts/link-record.ts";
import { isObject, isString, isUuid, type Members } from "../contracts/member-checks.ts";
import type { Uuid } from "../ids.ts";

/** A place in the log. Positions ascend along a history, and terms never descend. */
export type Position = { term: number; position: number };

/** The last entry of a history. Its hash identifies the whole history, its position does not. */
export type Head = Position & { hash: string };

export type EntryHeader = Position & {
  /** The identity of the database, which its dumps and copies share. */
  database: Uuid;
  /** The hash of the entry before this one; of the first one a hash that no store has. */
  previous: string;
};

export type Entry = EntryHeader & {
  hash: string;
  /** States as JSON, in the order in which they were committed; none in a heartbeat. */
  states: readonly Uint8Array[];
};

/** The format of entries and of the states in them; a header begins with it. */
export const ENTRY_FORMAT = 1;

/** The hash of no entry. */
export const NO_HASH = "0".repeat(64);

/** The head of a log without entries, and of a store that has none. */
export const EMPTY_HEAD: Head = { term: 0, position: 0, hash: NO_HASH };

/**
 * Most bytes of an entry with several states. A host that misses an alias reads the last entry of
 * the tail, so this is what a miss may cost.
 */
export const ENTRY_BYTES_MAX = 32 * 1024;

/** A header with the longest numbers is shorter. */
const HEADER_BYTES_MAX = 256;

/** Most bytes of an entry with one state, and so of a message in the tail. */
export const MESSAGE_BYTES_MAX = HEADER_BYTES_MAX + 1 + LINK_RECORD_BYTES_MAX;

const NEWLINE = 10;

const HASH = /^[0-9a-f]{64}$/;

/** Negative if `a` comes before `b`. Says nothing about whether they are of one history. */
export const comparePositions = (a: Position, b: Position): number =>
  a.term - b.term || a.position - b.position;

/** The hash of an entry: of its bytes as they are published. */
export const hashOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/**
 * Decodes a message of the tail; undefined when it is no entry, which counts as if it were not
 * there. States are not looked into: one that is malformed concerns nothing but its link.
 */
export function decodeEntry(bytes: Uint8Array): Entry | undefined {
  if (bytes.length > MESSAGE_BYTES_MAX) return undefined;
  const [line, ...states] = splitLines(bytes);
  const header = decodeHeader(line);
  if (header === undefined || states.some(({ length }) => length === 0)) return undefined;
  if (states.length > 1 && bytes.length > ENTRY_BYTES_MAX) return undefined;
  return { ...header, hash: hashOf(bytes), states };
}

function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; ;) {
    const end = bytes.indexOf(NEWLINE, start);
    lines.push(bytes.subarray(start, end < 0 ? bytes.length : end));
    if (end < 0) return lines;
    start = end + 1;
  }
}

function decodeHeader(line: Uint8Array | undefined): EntryHeader | undefined {
  const header = parseHeader(line);
  if (header === undefined || !isHeader(header)) return undefined;
  const { database, term, position, previous } = header;
  return { database, term, position, previous };
}

function parseHeader(line: Uint8Array | undefined): Members | undefined {
  if (line === undefined || line.length > HEADER_BYTES_MAX) return undefined;
  try {
    const header: unknown = JSON.parse(Buffer.from(line).toString("utf8"));
    return isObject(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

/** The format that a message says it has, if it is another one; whoever wrote it. */
export function otherFormatOf(bytes: Uint8Array): number | undefined {
  const [line] = splitLines(bytes.subarray(0, HEADER_BYTES_MAX));
  const format = parseHeader(line)?.["format"];
  return isNumber(format) && format !== ENTRY_FORMAT ? format : undefined;
}

const isHeader = (value: Members): value is Members & EntryHeader =>
  value["format"] === ENTRY_FORMAT &&
  isUuid(value["database"]) &&
  isNumber(value["term"]) &&
  isNumber(value["position"]) &&
  isHash(value["previous"]);

/** Whether a value is a term or the position of an entry. */
const isNumber = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

export const isHash = (value: unknown): value is string => isString(value) && HASH.test(value);

/** A head as text, for the headers of messages: `term.position.hash`. */
export const formatHead = ({ term, position, hash }: Head): string => `${term}.${position}.${hash}`;

/** Reads what {@link formatHead} wrote; undefined for anything else. */
export function parseHead(text: unknown): Head | undefined {
  const parts = isString(text) ? /^(\d{1,16})\.(\d{1,16})\.([0-9a-f]{64})$/.exec(text) : null;
  if (parts === null) return undefined;
  const [term, position, hash] = [Number(parts[1]), Number(parts[2]), parts[3]];
  return isNumber(term) && isNumber(position) && isHash(hash)
    ? { term, position, hash }
    : undefined;
}

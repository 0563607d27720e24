/**
 * The links log: its entries, and what is decided about them, without any I/O.
 *
 * An entry has states of links, domains and takedowns, which every host applies as one. It names
 * the entry before it by the hash of its bytes, as a commit of Git does, so an entry identifies all
 * of the history that leads to it. The message in the tail is the entry's bytes as PostgreSQL keeps
 * them, so an entry that is published again has the same bytes. They are lines of JSON, a header
 * and then each state, which SQL writes (`number_link_log()`).
 *
 * A host's store is a prefix of one history. An entry is applied only on top of the entry before
 * it. Anything else means that entries are missing, or that the store is of another history, which
 * PostgreSQL does not have any more; then the host takes a snapshot. NATS or PostgreSQL may have
 * been restored to any earlier moment, both or one of them, and clocks may be wrong: nothing here
 * compares times.
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
 * Maximum bytes of an entry with several states. A host that misses an alias reads the last entry
 * of the tail, so this is what a miss may cost.
 */
export const ENTRY_BYTES_MAX = 32 * 1024;

/** A header with the longest numbers is shorter. */
const HEADER_BYTES_MAX = 256;

/** Maximum bytes of an entry with one state, and so of a message in the tail. */
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

/** The format of a message if it is not ours; anybody may have written it. */
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

/** The part of the log that a store has. */
export type StoreState = {
  /** The database that its links come from; undefined before the first entry. */
  database: Uuid | undefined;
  head: Head;
  /**
   * The last entry that was written to it: the head, or a later one, on top of which the store has
   * no way back into the history.
   */
  written: Head;
};

export const EMPTY_STORE: StoreState = {
  database: undefined,
  head: EMPTY_HEAD,
  written: EMPTY_HEAD,
};

/** The step that a host takes with an entry. */
export type Step =
  /** It follows the head: its states are written, and it is the head then. */
  | "apply"
  /** Its states are written, as they are later than what the store has; but entries are missing. */
  | "overwrite"
  /** The store has it, or it is of a history that ended. */
  | "skip"
  /** It is of another database: until an operator confirms that, nothing is written. */
  | "refuse";

/** Decides about the next entry of the tail. */
export function decideStep(store: StoreState, entry: EntryHeader): Step {
  if (store.database !== undefined && store.database !== entry.database) return "refuse";
  if (!lacksEntries(store)) {
    if (follows(entry, store.head)) return "apply";
    if (comparePositions(entry, store.head) <= 0) return "skip";
  }
  return comparePositions(entry, store.written) > 0 ? "overwrite" : "skip";
}

/** The state of a store after a step. */
export function advance(store: StoreState, entry: EntryHeader & Head, step: Step): StoreState {
  if (step === "skip" || step === "refuse") return store;
  const { database, term, position, hash } = entry;
  const written = { term, position, hash };
  const head = step === "apply" ? written : store.head;
  return { database, head, written };
}

const follows = (entry: EntryHeader, head: Head): boolean =>
  entry.previous === head.hash && entry.term >= head.term && entry.position > head.position;

/**
 * Whether the store lacks entries before one that it has. It needs a snapshot then: entries that
 * it lacks are older than what it has, and must not be written any more.
 */
export const lacksEntries = ({ head, written }: StoreState): boolean =>
  comparePositions(written, head) > 0;

/** The last message of the tail, once a follower has read it. */
export type TailEnd = {
  /** Of the entry; undefined for a message that is no entry. */
  hash: string | undefined;
  /** The head of PostgreSQL when the message was published. */
  announced: Position;
  /**
   * Whether it was published since the follower began to read: a tail that was restored from a
   * backup ends with entries that were the last ones once.
   */
  isNew: boolean;
};

/**
 * What the tail ends with, once an entry was read and a step was taken. That the store's last entry
 * comes again says nothing: a stranger can repeat what an API process has signed.
 */
export function advanceEnd(
  before: TailEnd | undefined,
  { hash, announced }: { hash: string; announced: Position },
  { isLater, isRepeated }: { isLater: boolean; isRepeated: boolean },
): TailEnd {
  const wasNew = before?.hash === hash && before.isNew;
  return { hash, announced, isNew: isLater && (!isRepeated || wasNew) };
}

/**
 * Whether a store ends where PostgreSQL does, as far as the tail says. Only then a link that it
 * lacks does not exist.
 */
export const isCurrent = (store: StoreState, end: TailEnd | undefined): boolean =>
  end !== undefined &&
  end.isNew &&
  end.hash === store.head.hash &&
  !lacksEntries(store) &&
  comparePositions(end.announced, store.head) <= 0;

/** A store that was made from a snapshot, and that follows the log beside the store of the host. */
export type Candidate = {
  store: StoreState;
  /** Whether it has the end of the snapshot, from which on its states are certain. */
  hasEnd: boolean;
};

/** The use of a candidate: it goes on, replaces the store, or is of no use. */
export type Verdict = "follow" | "swap" | "drop";

/**
 * Judges a candidate. It replaces the store only where PostgreSQL ends, and where the store is not
 * further: no visitor sees an older state than before. A host that has no links of before takes
 * what the tail ends with, also while no API process publishes.
 */
export function judgeCandidate(
  { store: candidate, hasEnd }: Candidate,
  store: StoreState,
  end: TailEnd | undefined,
): Verdict {
  if (lacksEntries(candidate)) return "drop";
  if (end === undefined) return "follow";
  const isAtEnd = end.hash === candidate.head.hash && hasEnd;
  // It skipped the last entry, as it is of a history that was lost, or its end is.
  if (end.isNew && !isAtEnd) return "drop";
  const isDue = isCurrent(candidate, end) || (isAtEnd && !end.isNew && store.head.position === 0);
  return isDue && comparePositions(candidate.head, store.written) >= 0 ? "swap" : "follow";
}

/** From which entry of PostgreSQL's log on a publisher publishes. */
export type Plan = {
  /** The term must be above this one first; undefined if it stays. */
  above: number | undefined;
  from:
    /** After the last message of the tail. */
    | "last"
    /** All entries that PostgreSQL still has. */
    | "first"
    /** Entries that no tail has acknowledged. */
    | "unacknowledged";
};

/**
 * Decides how a publisher goes on, in this order: `acknowledged` is known before the last message
 * of the tail is read, and PostgreSQL is asked for its term and whether it knows that message after
 * that. In another order each would seem to be restored while others publish. A message of another
 * database is foreign, as that of a stranger.
 *
 * A new term costs hosts nothing whose store ends where PostgreSQL does, as its first entry follows
 * the last one. All others learn by it that what they have may not be PostgreSQL's.
 */
export function planPublication(
  acknowledged: Position | undefined,
  last: Head | "empty" | "foreign",
  { term, isKnown }: { term: number; isKnown: boolean },
): Plan {
  const acknowledgedTerm = acknowledged?.term ?? 0;
  if (last === "empty")
    return { above: acknowledged === undefined ? undefined : acknowledgedTerm, from: "first" };
  // What is before it may be of any history.
  if (last === "foreign") return { above: term, from: "unacknowledged" };
  if (!isKnown) return { above: Math.max(acknowledgedTerm, last.term), from: "unacknowledged" };
  const wentBack = acknowledged !== undefined && comparePositions(last, acknowledged) < 0;
  return { above: wentBack ? acknowledgedTerm : undefined, from: "last" };
}

/** Maximum terms that a host may be ahead: what it asks for is bounded by nothing else. */
const TERMS_AHEAD_MAX = 1_000_000;

/**
 * Decides about the request of a host that does not get on, whose store is of a term. Returns the
 * term that the next one must be above; undefined if the host is too far ahead. The store may be of
 * a history that was lost, so that it skips what is published. What is of a later term is skipped
 * by nobody, a term begins with the takedowns, and there is a snapshot of each.
 */
export const planTerm = (asked: number, { term }: Position): number | undefined =>
  asked - term <= TERMS_AHEAD_MAX ? Math.max(asked, term) : undefined;

/** Pause after the last entry until an empty one is due, the heartbeat. */
export const HEARTBEAT_MS = 2_000;

/** That pause when a host has asked for a heartbeat: as many hosts may ask as there are. */
const REQUESTED_HEARTBEAT_MS = 100;

/**
 * Whether a heartbeat is due. None is numbered while entries wait for their acknowledgement: their
 * publication says the same, and without a tail there would be more and more. The first entry of a
 * log may be one.
 */
export const isHeartbeatDue = (
  head: Position,
  acknowledged: Position | undefined,
  silentMs: number,
  isRequested: boolean,
): boolean =>
  silentMs >= (isRequested ? REQUESTED_HEARTBEAT_MS : HEARTBEAT_MS) &&
  (head.position === 0 || comparePositions(head, acknowledged ?? EMPTY_HEAD) <= 0);

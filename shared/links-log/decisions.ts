/**
 * The decisions of the links log, without any I/O: what a host does with an entry, when a store may
 * replace another, and from where a publisher goes on.
 *
 * A host's store is a prefix of one history. An entry is applied only on top of the entry before
 * it. Anything else means that entries are missing, or that the store is of another history, which
 * PostgreSQL does not have any more; then the host takes a snapshot. NATS or PostgreSQL may have
 * been restored to any earlier moment, both or one of them, and clocks may be wrong: nothing here
 * compares times.
 */
import type { Uuid } from "../ids.ts";
import {
  comparePositions,
  EMPTY_HEAD,
  type EntryHeader,
  type Head,
  type Position,
} from "./entry.ts";

/** The part of the log that a store has. */
export type StoreState = {
  /** The database that its links come from; undefined before the first entry. */
  database: Uuid | undefined;
  /** The end of its history. */
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
  isLater: boolean,
  isRepeated: boolean,
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
  /** The end of the snapshot: which states it has is certain only from here. */
  end: Head;
  /** Whether {@link end} is in its history. */
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
 * database is no entry.
 *
 * A new term costs hosts nothing whose store ends where PostgreSQL does, as its first entry follows
 * the last one. All others learn by it that what they have may not be PostgreSQL's.
 */
export function planPublication(
  acknowledged: Position | undefined,
  last: Head | "none" | "no entry",
  { term, isKnown }: { term: number; isKnown: boolean },
): Plan {
  const acknowledgedTerm = acknowledged?.term ?? 0;
  if (last === "none")
    return { above: acknowledged === undefined ? undefined : acknowledgedTerm, from: "first" };
  // What is before it may be of any history.
  if (last === "no entry") return { above: term, from: "unacknowledged" };
  if (!isKnown) return { above: Math.max(acknowledgedTerm, last.term), from: "unacknowledged" };
  const wentBack = acknowledged !== undefined && comparePositions(last, acknowledged) < 0;
  return { above: wentBack ? acknowledgedTerm : undefined, from: "last" };
}

/** Most terms that a host may be ahead: what it asks for is bounded by nothing else. */
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

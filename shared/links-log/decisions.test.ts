/** Goal: the single decisions of the links log, for what random histories seldom come to. */
import { describe, expect, test } from "bun:test";

import { newUuid } from "../ids.ts";
import {
  advance,
  type Candidate,
  decideStep,
  EMPTY_HEAD,
  EMPTY_STORE,
  type EntryHeader,
  type Head,
  HEARTBEAT_MS,
  isHeartbeatDue,
  judgeCandidate,
  NO_HASH,
  planPublication,
  planTerm,
  type StoreState,
  type TailEnd,
} from "./entries.ts";
import { chooseSnapshot, firstKept, type Manifest, SNAPSHOTS_KEPT } from "./snapshots.ts";

const DATABASE = newUuid();

const headAt = (term: number, position: number, history = "a"): Head => ({
  term,
  position,
  hash: Bun.SHA256.hash(`${history} ${term} ${position}`, "hex"),
});

const storeAt = (head: Head, written = head): StoreState => ({
  database: DATABASE,
  head,
  written,
});

const entryAfter = (previous: Head, entry: Head): EntryHeader & Head => ({
  database: DATABASE,
  previous: previous.hash,
  ...entry,
});

const endAt = (head: Head, change: Partial<TailEnd> = {}): TailEnd => ({
  hash: head.hash,
  announced: head,
  isNew: true,
  ...change,
});

const [first, second, third, fourth] = [headAt(1, 1), headAt(1, 2), headAt(1, 3), headAt(2, 4)];

const candidateAt = (head: Head, hasEnd = true): Candidate => ({ store: storeAt(head), hasEnd });

const nothing = storeAt(EMPTY_HEAD, third);
const oldEnd = endAt(third, { isNew: false });

describe("an entry", () => {
  const otherHistory = storeAt(headAt(1, 2, "b"));
  const elsewhere = { ...entryAfter(first, second), database: newUuid() };

  test.each([
    ["after the head is applied", storeAt(second), entryAfter(second, third), "apply"],
    ["of a new term after the head is applied", storeAt(third), entryAfter(third, fourth), "apply"],
    ["that is the head is skipped", storeAt(second), entryAfter(first, second), "skip"],
    ["of a lower term is skipped", storeAt(fourth), entryAfter(second, headAt(1, 9)), "skip"],
    ["beyond a gap is written", storeAt(first), entryAfter(second, third), "overwrite"],
    ["of another history is written", otherHistory, entryAfter(second, third), "overwrite"],
    [
      "of a store with later states is skipped",
      storeAt(first, third),
      entryAfter(first, second),
      "skip",
    ],
    ["of another database is refused", storeAt(first), elsewhere, "refuse"],
    [
      "of any database begins an empty store",
      EMPTY_STORE,
      { ...elsewhere, previous: NO_HASH },
      "apply",
    ],
    [
      "after the head, but not later, is skipped",
      storeAt(third),
      entryAfter(third, second),
      "skip",
    ],
  ] as const)("%s", (_, store, entry, step) => {
    expect(decideStep(store, entry)).toBe(step);
  });

  test("that is written beyond a gap leaves the head where it was", () => {
    const store = advance(storeAt(first), entryAfter(second, third), "overwrite");
    expect(store).toEqual(storeAt(first, third));
    const next = advance(store, entryAfter(third, headAt(1, 4)), "overwrite");
    expect(next).toEqual(storeAt(first, headAt(1, 4)));
  });
});

/** A snapshot's store beside the host's, where the tail ends. */
type Beside = { candidate?: Candidate; store?: StoreState; end?: TailEnd | undefined };

test.each<[string, Beside, string]>([
  ["replaces the store at the head", {}, "swap"],
  ["goes on while the tail is not read", { end: undefined }, "follow"],
  ["goes on in a tail that may be an old one", { end: oldEnd }, "follow"],
  ["replaces nothing with what the tail ends with", { store: nothing, end: oldEnd }, "swap"],
  [
    "goes on before the end of an old tail, also where there was nothing",
    { candidate: candidateAt(second), store: nothing, end: oldEnd },
    "follow",
  ],
  [
    "goes on before its end, also where there was nothing",
    { candidate: candidateAt(third, false), store: nothing, end: oldEnd },
    "follow",
  ],
  ["goes on before the head", { end: endAt(third, { announced: fourth }) }, "follow"],
  [
    "goes on while the store is further, as at a mirror that lags",
    { store: storeAt(first, headAt(1, 9)) },
    "follow",
  ],
  ["is of no use at a head before its end", { candidate: candidateAt(third, false) }, "drop"],
  ["is of no use where the tail ends otherwise", { end: endAt(headAt(1, 2, "b")) }, "drop"],
  [
    "is of no use when it lacks entries",
    { candidate: { ...candidateAt(first), store: storeAt(first, third) } },
    "drop",
  ],
])("a snapshot's store %s", (_, change, verdict) => {
  const beside = { candidate: candidateAt(third), store: storeAt(first), ...change };
  const end = "end" in change ? change.end : endAt(third);
  expect(judgeCandidate(beside.candidate, beside.store, end)).toBe(verdict as never);
});

describe("a publisher", () => {
  const known = { term: 2, isKnown: true };
  test.each([
    ["publishes all in a first stream", undefined, "empty", known, undefined, "first"],
    ["begins a term in an empty stream, if there was one", second, "empty", known, 1, "first"],
    ["goes on after the last message", second, third, known, undefined, "last"],
    ["begins a term where acknowledged entries are lost", third, second, known, 1, "last"],
    [
      "begins a term above that of an unknown entry",
      third,
      headAt(7, 1),
      { term: 2, isKnown: false },
      7,
      "unacknowledged",
    ],
    ["begins a term after what is no entry", undefined, "foreign", known, 2, "unacknowledged"],
  ] as const)("%s", (_, acknowledged, last, database, above, from) => {
    expect(planPublication(acknowledged, last, database)).toEqual({ above, from });
  });

  test.each([
    ["of this term", 2, 2],
    ["of an earlier term", 1, 2],
    ["of a later term", 5, 5],
    ["that makes up its term", 9_000_000, undefined],
  ])("asked by a host %s", (_, asked, above) => {
    expect(planTerm(asked, fourth)).toBe(above);
  });

  test.each([
    ["after silence", third, third, HEARTBEAT_MS, false, true],
    ["not sooner", third, third, HEARTBEAT_MS - 1, false, false],
    ["sooner for a host that asks", third, third, HEARTBEAT_MS / 10, true, true],
    ["not at once for hosts that ask again and again", third, third, 10, true, false],
    ["not while entries wait", third, second, HEARTBEAT_MS, true, false],
    ["not before the first entry is acknowledged", third, undefined, HEARTBEAT_MS, false, false],
    ["as the first entry", headAt(1, 0), undefined, HEARTBEAT_MS, false, true],
  ] as const)("adds a heartbeat %s", (_, head, acknowledged, silentMs, isRequested, due) => {
    expect(isHeartbeatDue(head, acknowledged, silentMs, isRequested)).toBe(due);
  });
});

const manifest = (start: Head, change: Partial<Manifest> = {}): Manifest => ({
  format: "links-3",
  database: DATABASE,
  start,
  end: start,
  links: 1,
  bytes: 1,
  sha256: start.hash,
  ...change,
});

describe("snapshots", () => {
  const stored = [
    manifest(first),
    manifest(third),
    manifest(second),
    manifest(fourth, { database: newUuid() }),
  ];

  test("the newest that the tail continues is taken, of the store's database", () => {
    const choose = (isContinued: (start: Head) => boolean) =>
      chooseSnapshot(stored, storeAt(first), isContinued)?.start;
    expect(choose(() => true)).toEqual(third);
    expect(choose(({ position }) => position < 3)).toEqual(second);
    expect(choose(() => false)).toBeUndefined();
    expect(chooseSnapshot(stored, EMPTY_STORE, () => true)?.start).toEqual(fourth);
  });

  test("the tail is truncated behind those that are kept, and not at all without any", () => {
    const sequences = new Map([first, second, third, fourth].map(({ hash }, i) => [hash, 10 * i]));
    const sequenceOf = ({ hash }: Head) => sequences.get(hash);
    expect(firstKept(stored, sequenceOf)).toBe(10 * (4 - SNAPSHOTS_KEPT));
    sequences.delete(fourth.hash);
    expect(firstKept(stored, sequenceOf)).toBe(10);
    expect(firstKept(stored, () => undefined)).toBeUndefined();
    expect(firstKept([], sequenceOf)).toBeUndefined();
  });
});

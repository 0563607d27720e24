/** Goal: an entry is exactly its bytes; whatever else a message has, it counts as no entry. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { encodeEntry } from "../../test/harness/links-log.ts";
import { LINK_RECORD_BYTES_MAX } from "../contracts/link-record.ts";
import { newUuid } from "../ids.ts";
import {
  comparePositions,
  decodeEntry,
  ENTRY_BYTES_MAX,
  type EntryHeader,
  formatHead,
  hashOf,
  MESSAGE_BYTES_MAX,
  NO_HASH,
  parseHead,
} from "./entries.ts";
import { decodeManifest, encodeManifest } from "./snapshots.ts";

const header: EntryHeader = {
  database: newUuid(),
  term: 3,
  position: 1_732_745_000_000_000,
  previous: NO_HASH,
};

const state = (bytes: number) => Buffer.from(JSON.stringify("x".repeat(bytes - 2)));

const largest = { ...header, term: Number.MAX_SAFE_INTEGER, position: Number.MAX_SAFE_INTEGER };

const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => hashOf(bytes));
const head = fc.record({ term: number, position: number, hash });

describe("an entry", () => {
  test("is decoded to what was encoded, under the hash of its bytes", () => {
    const states = fc.array(
      fc.json().map((text) => Buffer.from(JSON.stringify(JSON.parse(text)))),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(number, number, hash, states, (term, position, previous, lines) => {
        const entry = { ...header, term, position, previous };
        const bytes = encodeEntry(entry, lines);
        expect(decodeEntry(bytes)).toEqual({ ...entry, hash: hashOf(bytes), states: lines });
      }),
    );
  });

  test.each([
    ["without states", encodeEntry(header, []), 0],
    [
      "with one state that is as large as any",
      encodeEntry(largest, [state(LINK_RECORD_BYTES_MAX)]),
      1,
    ],
    [
      "with several states up to the bound",
      encodeEntry(header, [state(ENTRY_BYTES_MAX / 2), state(1_000)]),
      2,
    ],
  ])("%s is one", (_, bytes, states) => {
    expect(bytes.length).toBeLessThanOrEqual(MESSAGE_BYTES_MAX);
    expect(decodeEntry(bytes)?.states).toHaveLength(states);
  });

  test.each([
    ["nothing", ""],
    ["no JSON", "entry"],
    ["another JSON", "[1]"],
    ["a database that is no UUID", { ...header, database: "x" }],
    ["a term that is no number", { ...header, term: "1" }],
    ["a term below the first", { ...header, term: 0 }],
    ["a position that is not whole", { ...header, position: 1.5 }],
    ["a position beyond what JSON numbers hold", { ...header, position: 2 ** 53 }],
    ["no previous hash", { ...header, previous: undefined }],
    ["a previous hash that is too short", { ...header, previous: "0".repeat(63) }],
    ["a header that is too long", `${JSON.stringify(header)}${" ".repeat(256)}`],
    ["an empty state", `${JSON.stringify(header)}\n\n{}`],
    ["more bytes than a message may have", encodeEntry(header, [state(MESSAGE_BYTES_MAX)])],
    ["several states beyond the bound", encodeEntry(header, [state(ENTRY_BYTES_MAX), state(10)])],
  ])("is not a message with %s", (_, message) => {
    const text =
      message instanceof Uint8Array || typeof message === "string"
        ? message
        : JSON.stringify(message);
    expect(decodeEntry(Buffer.from(text))).toBeUndefined();
  });

  test("may have a malformed state, which concerns nothing else", () => {
    const bytes = encodeEntry(header, [Buffer.from("{"), Buffer.from("{}")]);
    expect(decodeEntry(bytes)?.states.map(String)).toEqual(["{", "{}"]);
  });
});

describe("a head", () => {
  test("is read as it was written, and nothing else is", () => {
    fc.assert(fc.property(head, (each) => expect(parseHead(formatHead(each))).toEqual(each)));
    for (const text of [
      undefined,
      1,
      "",
      "1.2",
      `1.2.${NO_HASH} `,
      `0.1.${NO_HASH}`,
      `1.1.${NO_HASH}0`,
    ])
      expect(parseHead(text)).toBeUndefined();
  });

  test("of a later term comes later, whatever its position", () => {
    expect(comparePositions({ term: 2, position: 1 }, { term: 1, position: 9 })).toBeGreaterThan(0);
    expect(comparePositions({ term: 2, position: 1 }, { term: 2, position: 9 })).toBeLessThan(0);
  });
});

describe("a manifest", () => {
  const manifest = {
    format: "links-3",
    database: header.database,
    start: { term: 1, position: 2, hash: NO_HASH },
    end: { term: 1, position: 3, hash: hashOf(Buffer.from("x")) },
    links: 0,
    bytes: 4096,
    sha256: NO_HASH,
  };

  test("is decoded to what was encoded", () => {
    expect(decodeManifest(encodeManifest(manifest))).toEqual(manifest);
  });

  test.each<[string, object]>([
    ["no start", { start: undefined }],
    ["a hash that is none", { sha256: "x" }],
    ["a size below zero", { bytes: -1 }],
    ["more than any manifest has", { format: "x".repeat(5_000) }],
  ])("is not one with %s", (_, change) => {
    const encoded = JSON.parse(Buffer.from(encodeManifest(manifest)).toString());
    expect(decodeManifest(Buffer.from(JSON.stringify({ ...encoded, ...change })))).toBeUndefined();
  });
});

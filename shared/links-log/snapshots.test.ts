/** Goal: an API process knows what a host asks for, whatever comes in a message. */
import { describe, expect, test } from "bun:test";

import { newUuid } from "../ids.ts";
import { EMPTY_HEAD, NO_HASH } from "./entry.ts";
import { decodeSnapshotRequest, encodeSnapshotRequest, type SnapshotRequest } from "./snapshots.ts";

const LONGEST = Number.MAX_SAFE_INTEGER;
const head = { term: LONGEST, position: LONGEST, hash: "f".repeat(64) };

const NOTHING: SnapshotRequest = { written: undefined, doubtful: undefined, dropped: undefined };

test.each<[string, SnapshotRequest]>([
  ["of an empty store", NOTHING],
  ["of a store", { ...NOTHING, written: head }],
  ["with everything", { written: head, doubtful: { ...head, hash: NO_HASH }, dropped: newUuid() }],
])("a request %s is read as it was written", (_, request) => {
  expect(decodeSnapshotRequest(encodeSnapshotRequest(request))).toEqual(request);
});

test("the head of an empty store is none", () => {
  const request = encodeSnapshotRequest({ ...NOTHING, written: EMPTY_HEAD });
  expect(decodeSnapshotRequest(request)).toEqual(NOTHING);
});

describe("is no request", () => {
  const text = `1.1.${NO_HASH}`;
  const whole = { written: null, doubtful: null, dropped: null };
  test.each([
    ["nothing", ""],
    ["a text", '"request"'],
    ["a list", "[]"],
    ["one without members", "{}"],
    ["a head that is none", JSON.stringify({ ...whole, written: "1.1" })],
    ["a term of zero", JSON.stringify({ ...whole, written: `0.1.${NO_HASH}` })],
    ["a number for a head", JSON.stringify({ ...whole, doubtful: 1 })],
    ["a name that is none", JSON.stringify({ ...whole, dropped: "../x" })],
    ["a long one", JSON.stringify({ ...whole, written: text, more: "x".repeat(512) })],
  ])("%s", (_, message) => {
    expect(decodeSnapshotRequest(Buffer.from(message))).toBeUndefined();
  });
});

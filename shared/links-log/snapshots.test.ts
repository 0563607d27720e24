/** Goal: an API process knows what a host asks for, whatever comes in a message. */
import { expect, test } from "bun:test";

import { decodeSnapshotRequest, encodeSnapshotRequest } from "./snapshots.ts";

test.each([0, 1, 999_999_999_999_999])("a request of term %p is read as it was written", (term) => {
  expect(decodeSnapshotRequest(Buffer.from(encodeSnapshotRequest(term)))).toBe(term);
});

test.each(["", '"request"', "[]", "-1", "1.5", "1 ", "1".repeat(16), "1".repeat(10_000)])(
  "%p is no request",
  (message) => expect(decodeSnapshotRequest(Buffer.from(message))).toBeUndefined(),
);

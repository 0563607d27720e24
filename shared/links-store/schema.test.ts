import { expect, test } from "bun:test";

import fc from "fast-check";

import { activeLink } from "../../test/harness/links-log.ts";
import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkRecord,
  type LinkRecord,
} from "../contracts/link-record.ts";
import { DamagedRecordError, decodeStoredRecord, encodeStoredRecord } from "./schema.ts";

/** What the store gives back of a state of the log. */
function store(record: LinkRecord): unknown {
  const bytes = encodeLinkRecord(record);
  const decoded = decodeLinkRecord(bytes);
  if (decoded === undefined) throw new TypeError("The message is malformed.");
  return decodeStoredRecord(encodeStoredRecord(decoded, bytes));
}

test("a link is what the log delivered", () => {
  const more = fc.record(
    {
      host_changed_at: fc.nat(),
      utm: fc.string({ minLength: 1 }),
      expires_at: fc.option(fc.nat()),
      mode: fc.constantFrom<ActiveLink["mode"]>("live", "test"),
      forward_query: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(more, fc.webUrl(), (members, destination) => {
      const link = { ...activeLink("a", 1), destination, ...members };
      expect(store(link)).toEqual(link);
    }),
  );
});

test("members that only a later version knows are kept for it", () => {
  const link = { ...activeLink("a", 1), from_later: { deep: [1] } };
  expect(store(link)).toEqual(link);
});

test("a link whose extras this version does not understand is deleted for it, and whole for a later one", () => {
  const message = { ...activeLink("a", 1), extras: { from_later: 1 } };
  const bytes = new TextEncoder().encode(JSON.stringify(message));
  const record = decodeLinkRecord(bytes);
  if (record === undefined) throw new TypeError("The message is malformed.");
  const row = encodeStoredRecord(record, bytes);
  expect(decodeStoredRecord(row)).toEqual({ state: "deleted", version: 1, domain: "", alias: "a" });
  expect(row.toString("utf8")).toContain("from_later");
});

test("a row that is cut off, or empty, is damaged", () => {
  const link = activeLink("a", 1);
  const row = encodeStoredRecord(link, encodeLinkRecord(link));
  for (let length = 0; length < row.length; length++)
    expect(() => decodeStoredRecord(row.subarray(0, length))).toThrow(DamagedRecordError);
});

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { passageText } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  isUsed,
  keepLink,
  newLink,
  readLink,
  readRecord,
  setUsed,
  sizeAt,
  sizeOf,
  versionAt,
  writeRecord,
} from "./record.ts";

const anyName = {
  version: fc.nat(),
  domain: fc.constantFrom("", "go.example.com"),
  alias: fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/),
};

const anyRecord: fc.Arbitrary<LinkRecord> = fc.oneof(
  fc.record({ state: fc.constant("deleted" as const), ...anyName }),
  fc.record({
    state: fc.constant("active" as const),
    ...anyName,
    link_id: fc.uuid(),
    account_id: fc.uuid(),
    mode: fc.constantFrom("live" as const, "test" as const),
    destination: fc.string({ unit: "grapheme", maxLength: 3_000 }),
    expires_at: fc.option(fc.nat({ max: 8.64e15 })),
    password_hash: fc.option(fc.string({ maxLength: 100 })),
    forward_query: fc.boolean(),
  }),
);

const HASH = "$argon2id$v=19$m=19456";

const SECRET: LinkRecord = {
  state: "active",
  version: 7,
  domain: "",
  alias: "a",
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "live",
  destination: "https://example.com/",
  expires_at: null,
  password_hash: HASH,
  forward_query: false,
};

describe("a record", () => {
  test("gives back the state that was written, used or not, and takes the bytes it said", () => {
    fc.assert(
      fc.property(anyRecord, fc.nat({ max: 10 }), fc.boolean(), (record, place, used) => {
        const at = place * 8;
        const size = sizeOf(record);
        const bytes = Buffer.alloc(at + size + 8, 0xff);
        writeRecord(bytes, at, record);
        setUsed(bytes, at, used);
        expect(readRecord(bytes, at)).toEqual(record);
        expect(isUsed(bytes, at)).toBe(used);
        expect(versionAt(bytes, at)).toBe(record.version);
        expect([sizeAt(bytes, at), size % 8]).toEqual([size, 0]);
        expect(bytes.readBigUInt64LE(at + size)).toBe(0xffff_ffff_ffff_ffffn);
      }),
    );
  });

  test("a link that is kept stays as it was when its bytes are used for another", () => {
    const bytes = Buffer.alloc(sizeOf(SECRET));
    writeRecord(bytes, 0, SECRET);
    const link = readLink(bytes, 0, newLink());
    if (link === null) throw new Error("There is no link.");
    const kept = keepLink(link);
    const ids = passageText(link.ids);
    bytes.fill(0);
    link.version = 8;
    expect(passageText(kept.destination)).toBe("https://example.com/");
    expect([kept.version, kept.password_hash, passageText(kept.ids)]).toEqual([7, HASH, ids]);
  });
});

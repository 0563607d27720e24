import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { anyAlias } from "../../test/harness/any-alias.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { sliceToString } from "../bytes.ts";
import type { ActiveLink, LinkRecord } from "../contracts/link-record.ts";
import type { RedirectSettings, Rule } from "../contracts/redirect-settings.ts";
import { EncodedRules, encodeRules } from "../decision/encoded-rules.ts";
import {
  copyLink,
  emptyLink,
  isReferenced,
  readLink,
  readRecord,
  readTakedownFields,
  setReferenced,
  sizeAt,
  sizeOf,
  writeRecord,
} from "./record.ts";

const anyName = {
  version: fc.nat(),
  domain: fc.constantFrom("", "go.example.com"),
  alias: anyAlias(),
};

const anySettings: fc.Arbitrary<RedirectSettings> = fc.record(
  {
    disabled: fc.constant(true as const),
    starts_at: fc.nat({ max: 8.64e15 }),
    expired_url: fc.string({ unit: "grapheme", minLength: 1, maxLength: 3_000 }),
  },
  { requiredKeys: [] },
);

const anyRecord: fc.Arbitrary<LinkRecord> = fc.oneof(
  fc.record({ state: fc.constant("deleted" as const), ...anyName }),
  fc.record(
    {
      state: fc.constant("active" as const),
      ...anyName,
      link_id: fc.uuid(),
      account_id: fc.uuid(),
      mode: fc.constantFrom("live" as const, "test" as const),
      destination: fc.string({ unit: "grapheme", maxLength: 3_000 }),
      expires_at: fc.option(fc.nat({ max: 8.64e15 })),
      password_hash: fc.option(fc.string({ maxLength: 100 })),
      forward_query: fc.boolean(),
      extras: anySettings.filter((extras) => Object.keys(extras).length > 0),
      utm: fc.string({ unit: "grapheme", maxLength: 300 }),
    },
    {
      requiredKeys: [
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
      ],
    },
  ),
);

const HASH = "$argon2id$v=19$m=19456";

const SECRET: ActiveLink = { ...activeLink("a", 7), password_hash: HASH };

const RULES: Rule[] = [
  { id: SECRET.link_id, url: "https://example.com/ü", conditions: [] },
  {
    id: SECRET.account_id,
    url: "https://example.com/2",
    conditions: [
      { type: "ip", in: ["203.0.113.0/24", "2001:db8::/32"], not: true },
      { type: "browser", in: ["Ünknown", "😀"] },
    ],
  },
];

/** What requests see of rules. */
const evaluated = (rules: RedirectSettings["rules"]) => {
  const encoded = encodeRules(rules ?? []);
  return [encoded.size(), encoded.urls()];
};

describe("a record", () => {
  test("has its rules as bytes, which are written again as they are", () => {
    for (const extras of [{ rules: RULES }, { rules: RULES, confirm: true as const }]) {
      const record = { ...SECRET, extras, utm: "utm_source=a" };
      const bytes = Buffer.alloc(sizeOf(record));
      writeRecord(bytes, 0, record, false);
      const read = readRecord(bytes, 0);
      if (read.state !== "active") throw new Error("There is no link.");
      expect(read.extras?.rules).toBeInstanceOf(EncodedRules);
      expect(evaluated(read.extras?.rules)).toEqual(evaluated(RULES));
      expect({ ...read, extras: { ...read.extras, rules: RULES } }).toEqual(record);
      const again = Buffer.alloc(sizeOf(read));
      writeRecord(again, 0, read, false);
      expect(again.equals(bytes)).toBe(true);
      expect(readTakedownFields(bytes, 0)?.extras).toMatchObject({ ...extras, rules: {} });
      expect(() => JSON.stringify(read)).toThrow("no part of a message");
      const link = readLink(bytes, 0, emptyLink());
      if (link === null || link === "taken_down") throw new Error("There is no link.");
      const copy = copyLink(link);
      bytes.fill(0);
      expect(copy.rules?.urls()).toEqual(RULES.map(({ url }) => url));
    }
  });

  test("is read as it was written, referenced or not, and takes the bytes that sizeOf returned", () => {
    fc.assert(
      fc.property(
        anyRecord,
        fc.nat({ max: 10 }),
        fc.boolean(),
        fc.boolean(),
        (record, offset, referenced, takenDown) => {
          const at = offset * 8;
          const size = sizeOf(record);
          const bytes = Buffer.alloc(at + size + 8, 0xff);
          writeRecord(bytes, at, record, takenDown);
          setReferenced(bytes, at, referenced);
          expect(readRecord(bytes, at)).toEqual(record);
          expect(isReferenced(bytes, at)).toBe(referenced);
          expect([sizeAt(bytes, at), size % 8]).toEqual([size, 0]);
          expect(bytes.readBigUInt64LE(at + size)).toBe(0xffff_ffff_ffff_ffffn);
        },
      ),
    );
  });

  test("a copied link stays unchanged when its bytes are reused", () => {
    const bytes = Buffer.alloc(sizeOf(SECRET));
    writeRecord(bytes, 0, SECRET, false);
    const link = readLink(bytes, 0, emptyLink());
    if (link === null || link === "taken_down") throw new Error("There is no link.");
    const copy = copyLink(link);
    const ids = sliceToString(link.ids);
    bytes.fill(0);
    link.version = 8;
    expect(sliceToString(copy.destination)).toBe(SECRET.destination);
    expect([copy.version, copy.password_hash, sliceToString(copy.ids)]).toEqual([7, HASH, ids]);
  });
});

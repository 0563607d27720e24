/** Goal: no version of a redirector leads a visitor to where a link's extras forbid. */
import { describe, expect, test } from "bun:test";

import { activeLink } from "../../test/harness/links-log.ts";
import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkRecord,
  LINK_RECORD_BYTES_MAX,
} from "./link-record.ts";
import type { RedirectSettings } from "./redirect-settings.ts";

const PLAIN: ActiveLink = {
  ...activeLink("a", 7),
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  destination: "https://example.com/",
};

const PLAIN_TEXT =
  '{"state":"active","version":7,"domain":"","alias":"a","link_id":"0190a5a2-0000-7000-8000-000000000001","account_id":"0190a5a2-0000-7000-8000-000000000002","mode":"live","destination":"https://example.com/","expires_at":null,"password_hash":null,"forward_query":false}';

const encode = (extras: RedirectSettings) => encodeLinkRecord({ ...PLAIN, extras });

/** The alias of a record that was written with this one; undefined for a malformed record. */
const readAlias = (alias: string) =>
  decodeLinkRecord(Buffer.from(JSON.stringify({ ...PLAIN, alias })))?.alias;

describe("a message of the links log", () => {
  test("of a link without extras has the bytes that it always had", () => {
    expect(new TextDecoder().decode(encodeLinkRecord(PLAIN))).toBe(PLAIN_TEXT);
  });

  test("of a link with extras is read as it was written", () => {
    for (const extras of [
      { disabled: true },
      { starts_at: 5 },
      { confirm: true },
      { limit: { id: PLAIN.link_id, max: 1, before: 0, stored: 0 } },
      { expired_url: "https://example.com/over" },
    ] as const)
      expect(decodeLinkRecord(encode(extras))).toEqual({ ...PLAIN, extras });
  });

  test("with extras that this version does not understand is a deletion", () => {
    const { version, domain, alias } = PLAIN;
    const extras = { starts_at: 5, of_a_later_version: 1 };
    const bytes = Buffer.from(JSON.stringify({ ...PLAIN, extras }));
    expect(decodeLinkRecord(bytes)).toEqual({ state: "deleted", version, domain, alias });
  });

  test("has an alias that fits into a key, and that can be written as it was read", () => {
    for (const alias of ["2024/r\u00e9sum\u00e9", "\u{1f388}".repeat(64)])
      expect(readAlias(alias)).toBe(alias);
    for (const alias of ["", "\u{1f388}".repeat(65), "\ud83c", "a b", "a\n"])
      expect(readAlias(alias)).toBeUndefined();
  });

  test("is none without the members of its kind", () => {
    for (const text of [
      "",
      "{}",
      "null",
      '{"state":"deleted","version":1,"domain":""}',
      JSON.stringify({ ...PLAIN, extras: null }),
    ])
      expect(decodeLinkRecord(Buffer.from(text))).toBeUndefined();
    const { link_id: _, ...withoutId } = PLAIN;
    const torn = { ...withoutId, extras: { disabled: true } };
    expect(decodeLinkRecord(Buffer.from(JSON.stringify(torn)))).toBeUndefined();
    expect(encode({ disabled: true }).length).toBeLessThan(LINK_RECORD_BYTES_MAX);
  });
});

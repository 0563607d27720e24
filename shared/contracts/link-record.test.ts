/** Goal: no version of a redirector leads a visitor to where a link's extras forbid. */
import { describe, expect, test } from "bun:test";

import {
  type ActiveLink,
  decodeLinkRecord,
  encodeLinkMessage,
  encodeLinkRecord,
  LINK_RECORD_BYTES_MAX,
  toMessage,
} from "./link-record.ts";
import type { RedirectSettings } from "./redirect-settings.ts";

const PLAIN: ActiveLink = {
  state: "active",
  version: 7,
  domain: "",
  alias: "a",
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "live",
  destination: "https://example.com/",
  expires_at: null,
  password_hash: null,
  forward_query: false,
};

const PLAIN_TEXT =
  '{"state":"active","version":7,"domain":"","alias":"a","link_id":"0190a5a2-0000-7000-8000-000000000001","account_id":"0190a5a2-0000-7000-8000-000000000002","mode":"live","destination":"https://example.com/","expires_at":null,"password_hash":null,"forward_query":false}';

const encode = (extras: RedirectSettings) => encodeLinkRecord({ ...PLAIN, extras });

/** How a redirector of version 0.2.0 and before reads a message. */
function decodeAsBefore(bytes: Uint8Array): "deleted" | "active" | undefined {
  const value: Record<string, unknown> = JSON.parse(new TextDecoder().decode(bytes));
  if (typeof value["version"] !== "number") return undefined;
  if (typeof value["domain"] !== "string" || typeof value["alias"] !== "string") return undefined;
  if (value["state"] === "deleted") return "deleted";
  return value["state"] === "active" && typeof value["destination"] === "string"
    ? "active"
    : undefined;
}

/** The alias of a record that was written with this one; undefined for a malformed record. */
const readAlias = (alias: string) =>
  decodeLinkRecord(Buffer.from(JSON.stringify({ ...PLAIN, alias })))?.alias;

describe("a message of the links log", () => {
  test("of a link without extras has the bytes that it always had", () => {
    expect(new TextDecoder().decode(encodeLinkRecord(PLAIN))).toBe(PLAIN_TEXT);
  });

  test("of a link whose extras decide is a deletion for versions without extras", () => {
    for (const extras of [
      { disabled: true },
      { starts_at: 5 },
      { confirm: true },
      { limit: { id: PLAIN.link_id, max: 1, before: 0, stored: 0 } },
    ] as const) {
      const bytes = encode(extras);
      expect(decodeAsBefore(bytes)).toBe("deleted");
      expect(decodeLinkRecord(bytes)).toEqual({ ...PLAIN, extras });
    }
  });

  test("of a link whose extras decide nothing is a plain link for versions without extras", () => {
    const bytes = encode({ expired_url: "https://example.com/over" });
    expect(decodeAsBefore(bytes)).toBe("active");
    expect(decodeLinkRecord(bytes)).toEqual({
      ...PLAIN,
      extras: { expired_url: "https://example.com/over" },
    });
  });

  test("is the same when it comes from the outbox", () => {
    const message = toMessage({ ...PLAIN, extras: { disabled: true } });
    expect(encodeLinkMessage(message)).toEqual(encode({ disabled: true }));
    expect(toMessage(message)).toEqual(message);
  });

  test("with extras that this version does not understand is a deletion", () => {
    const { version, domain, alias } = PLAIN;
    for (const state of ["active", "deleted"]) {
      const bytes = Buffer.from(
        JSON.stringify({ ...PLAIN, state, extras: { starts_at: 5, of_a_later_version: 1 } }),
      );
      expect(decodeLinkRecord(bytes)).toEqual({ state: "deleted", version, domain, alias });
    }
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
      '{"state":"deleted","version":1,"domain":"","alias":"a","extras":null}',
    ])
      expect(decodeLinkRecord(Buffer.from(text))).toBeUndefined();
    const { link_id: _, ...withoutId } = PLAIN;
    const torn = { ...withoutId, state: "deleted", extras: { disabled: true } };
    expect(decodeLinkRecord(Buffer.from(JSON.stringify(torn)))).toBeUndefined();
    expect(encode({ disabled: true }).length).toBeLessThan(LINK_RECORD_BYTES_MAX);
  });
});

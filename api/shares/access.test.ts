/**
 * Goal: nobody reads a share without the token of its URL and, where it has one, its present
 * password.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { newUuid } from "../../shared/ids.ts";
import { grantAccess, hasAccess, parseToken } from "./reading.ts";

const NOW = 1_800_000_000_000;
const share = { id: newUuid(), password_hash: "$argon2id$v=19$one" };

describe("the token of a URL", () => {
  test("has one form: other texts are looked up by nothing", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^[\w-]{43}$/.test(text));
        expect(parseToken(text)).toBeUndefined();
      }),
    );
  });
});

describe("an access token", () => {
  const { access, expires } = grantAccess(share, NOW);

  test("is valid for an hour", () => {
    expect(expires * 1_000).toBe(NOW + 3_600_000);
    expect(hasAccess(share, access, NOW + 3_599_999)).toBe(true);
    expect(hasAccess(share, access, NOW + 3_600_000)).toBe(false);
  });

  test("opens no other share, and not this one with another password", () => {
    expect(hasAccess({ ...share, id: newUuid() }, access, NOW)).toBe(false);
    expect(hasAccess({ ...share, password_hash: "$argon2id$v=19$two" }, access, NOW)).toBe(false);
  });

  test("cannot be prolonged or altered", () => {
    const [, signature = ""] = access.split(".");
    expect(hasAccess(share, `${expires + 1}.${signature}`, NOW)).toBe(false);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(hasAccess(share, text, NOW)).toBe(false);
        expect(hasAccess(share, `${expires}.${text}`, NOW)).toBe(text === signature);
      }),
    );
  });
});

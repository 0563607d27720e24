import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../test/harness/property-runs.ts";
import { decodeId, encodeId, newUuid } from "./ids.ts";

describe("public ids", () => {
  test("an id decodes to the UUID it was encoded from", () => {
    fc.assert(
      fc.property(fc.uuid({ version: 7 }), (uuid) => {
        expect(decodeId("link", encodeId("link", uuid))).toBe(uuid);
      }),
    );
  });

  test("an id of another kind is not accepted", () => {
    expect(decodeId("link", encodeId("key", newUuid()))).toBeUndefined();
  });

  test("arbitrary text is not decoded as an id, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 64 }), (text) => {
        expect(decodeId("link", `link_${text}`)).toSatisfy(
          (uuid) => uuid === undefined || encodeId("link", uuid) === `link_${text}`,
        );
      }),
      { numRuns: casesOf(1_000) },
    );
  });

  test("later ids sort after earlier ones", () => {
    const earlier = encodeId("link", newUuid());
    expect(encodeId("link", newUuid()) > earlier).toBe(true);
  });
});

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { parseDomain } from "./host.ts";

describe("domain names", () => {
  test("are normalised once: parsing an accepted name returns it unchanged", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string(), fc.string({ unit: "grapheme" })), (text) => {
        const parsed = parseDomain(text);
        if ("problem" in parsed) return;
        expect(parsed.host).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
        expect(parseDomain(parsed.host)).toEqual(parsed);
        expect(new URL(`https://${parsed.host}/`).hostname).toBe(parsed.host);
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  test.each(["example.com/", "example.com?x", "user@example.com", "exam ple.com", "1.2.3.4"])(
    "%p is rejected",
    (text) => {
      expect(parseDomain(text)).toHaveProperty("problem");
    },
  );
});

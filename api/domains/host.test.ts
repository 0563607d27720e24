import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { parseDomain } from "./model.ts";

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

  test("with non-ASCII letters are ASCII names", () => {
    expect(parseDomain("Bücher.example")).toEqual({ host: "xn--bcher-kva.example" });
  });

  test.each([
    ..."com co.uk localhost 1.2.3.4 [::1] *.example.com -a.example.com https://example.com".split(
      " ",
    ),
    ..."example.com/path example.com?x example.com:80 user@example.com".split(" "),
    "",
    "exam ple.com",
    "ex\0ample.com",
    `${"a".repeat(64)}.example.com`,
    `${"a.".repeat(127)}example.com`,
  ])("%p is rejected", (text) => {
    expect(parseDomain(text)).toHaveProperty("problem");
  });
});

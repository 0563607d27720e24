import { expect, test } from "bun:test";
import { domainToASCII } from "node:url";

import fc from "fast-check";

import { readableHost, readableUrl } from "./host-names.ts";

test.each([
  "bücher.de",
  "пример.рф",
  "παράδειγμα.gr",
  "例え.jp",
  "한국.kr",
  "straße.de",
  "मराठी.in",
  "example.com",
])("%s is shown as people read it", (host) => {
  expect(readableHost(domainToASCII(host))).toBe(host);
  expect(readableUrl(`https://${domainToASCII(host)}/a/xn--b?c=/d`)).toBe(`${host}/a/xn--b?c=/d`);
});

test.each([
  // Cyrillic letters that resemble apple, and one among Latin letters.
  ["аррӏе.com", "xn--80ak6aa92e.com"],
  ["pаypal.com", "xn--pypal-4ve.com"],
  // Latin letters that resemble others.
  ["gıthub.com", "xn--gthub-n4a.com"],
  ["ɡoogle.com", "xn--oogle-qmc.com"],
])("%s stays in Punycode, as it resembles another host", (host, punycode) => {
  expect(domainToASCII(host)).toBe(punycode);
  expect(readableHost(punycode)).toBe(punycode);
});

test.each(["xn--paypal-", "xn--", "xn--a-", "xn--\u00fc", `xn--${"a".repeat(100)}`])(
  "%s is no name, and stays as it is",
  (host) => {
    expect(readableHost(host)).toBe(host);
  },
);

test("what is shown is always the same host, whatever it was", () => {
  const letters = fc.constantFrom(..."aàz09-жзё例か한αλ".split(""), "ß");
  const label = fc.oneof(
    fc.string({ unit: letters, minLength: 1, maxLength: 12 }),
    fc.string({ unit: "binary", maxLength: 12 }),
    fc
      .string({ unit: fc.constantFrom(..."abz09-".split("")), maxLength: 20 })
      .map((text) => `xn--${text}`),
  );
  let shown = 0;
  fc.assert(
    fc.property(label, (text) => {
      const host = domainToASCII(`${text}.de`) || `${text}.de`;
      const readable = readableHost(host);
      if (readable === host) return;
      shown++;
      expect(domainToASCII(readable)).toBe(host);
    }),
    { numRuns: 2_000 },
  );
  expect(shown).toBeGreaterThan(20);
});

/**
 * Goal: a rule names countries that visitors can have, and rules from before that do not can still
 * be read.
 */
import { describe, expect, test } from "bun:test";

import { rulesField, rulesResponse } from "./link-rules.ts";

const rulesOf = (...codes: string[]) => [
  { url: "https://example.com/", conditions: [{ type: "os" as const, in: ["iOS"] }] },
  {
    url: "https://example.com/",
    conditions: [
      { type: "device" as const, in: ["mobile" as const] },
      { type: "country" as const, in: codes },
    ],
  },
];

const problemsOf = (...codes: string[]) =>
  rulesField
    .safeParse(rulesOf(...codes))
    .error?.issues.map(({ path, message }) => [path.join("."), message]);

test.each([
  ["os", "Mac OS X", "macOS"],
  ["os", "iphone", "iOS"],
  ["os", "iPadOS 17", "iOS"],
  ["os", "Windows NT 10.0", "Windows"],
  ["os", "Chromium OS", "ChromeOS"],
  ["os", "HarmonyOS", "HarmonyOS"],
  ["browser", "Mobile Safari", "Safari"],
  ["browser", "Mobile  10", "10"],
  ["os", "10", "10"],
  ["browser", "google chrome 120.0.1", "Chrome"],
  ["browser", "Internet Explorer", "IE"],
  ["browser", "Opera Mini", "Opera Mini"],
] as const)("a rule for the %s %s is one for %s", (type, name, expected) => {
  const [rule] = rulesField.parse([
    { url: "https://example.com/", conditions: [{ type, in: [name] }] },
  ]);
  expect(rule?.conditions).toEqual([{ type, in: [expected] }]);
});

describe("a country of a rule", () => {
  test("is one of ISO 3166-1 in any case, or the unknown one", () => {
    expect(problemsOf("DE", "gb", "XK", "ZZ")).toBeUndefined();
  });

  test("that no visitor can have is rejected, and the right one is named", () => {
    expect(problemsOf("DE", "uk", "EL", "XX")).toEqual([
      ["1.conditions.1.in.1", "ISO 3166-1 has GB for UK"],
      ["1.conditions.1.in.2", "ISO 3166-1 has GR for EL"],
      ["1.conditions.1.in.3", "XX is no country of ISO 3166-1; ZZ stands for an unknown one"],
    ]);
  });

  test("that was stored before is still read", () => {
    const stored = rulesOf("UK").map((rule, i) => ({ ...rule, id: `rule_${i}` }));
    expect(rulesResponse.safeParse(stored).success).toBe(true);
  });
});

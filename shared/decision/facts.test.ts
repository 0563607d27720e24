/**
 * Goal: what a request says is read once, however many conditions ask, and no more of it than the
 * bounds allow.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { countParses } from "../../test/harness/count-parses.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import type { Condition, Rule } from "../contracts/redirect-settings.ts";
import { CachedFacts, toAgentNames } from "./facts.ts";
import { preferredLanguage } from "./language.ts";
import { Targets } from "./targets.ts";

/**
 * As many rules and conditions as a link may have, each rule's last condition being one that does
 * not match.
 */
const rulesOf = (conditionOf: (i: number) => Condition): Rule[] =>
  Array.from({ length: 20 }, (_, rule) => ({
    id: `r${rule}`,
    url: "https://example.com/",
    conditions: Array.from({ length: 10 }, (_, i) => ({
      ...conditionOf(10 * rule + i),
      not: i < 9,
    })),
  }));

/** Facts, and how often each was read. */
function createFacts(query: string | (() => string) = "") {
  const reads: Record<string, number> = {};
  const count =
    <Value>(name: string, value: Value) =>
    (): Value => {
      reads[name] = (reads[name] ?? 0) + 1;
      return value;
    };
  const facts = new CachedFacts({
    now: () => 0,
    address: () => "203.0.113.7",
    location: count("location", undefined),
    userAgent: count("userAgent", "x"),
    agent: count("agent", toAgentNames({ browser: "Safari", os: "iOS", device: "mobile" })),
    language: count("language", "de"),
    source: count("source", "direct"),
    query: typeof query === "string" ? count("query", query) : query,
  });
  return { facts, reads };
}

describe("200 conditions", () => {
  test.each<[string, (i: number) => Condition]>([
    ["location", () => ({ type: "country", in: ["US"] })],
    ["location", () => ({ type: "continent", in: ["NA"] })],
    ["agent", (i) => ({ type: "os", in: [`x${i}`] })],
    ["agent", () => ({ type: "device", in: ["desktop"] })],
    ["language", (i) => ({ type: "language", in: [`x${i}`] })],
    ["source", (i) => ({ type: "referrer", in: [`x${i}`] })],
    ["query", (i) => ({ type: "query", name: "a", in: [`x${i}`] })],
    ["query", (i) => ({ type: "query", name: `x${i}` })],
  ])("read the %s of a request once, also to explain them", (name, conditionOf) => {
    const { facts, reads } = createFacts("a=1&b=2");
    const targets = new Targets({ rules: rulesOf(conditionOf) });
    const parsed = countParses(() => {
      targets.choose(facts);
      expect([...targets.explain(facts)]).toHaveLength(20);
    });
    expect(reads).toEqual({ [name]: 1 });
    expect(parsed).toEqual(name === "query" ? [2] : []);
    facts.forget();
    targets.choose(facts);
    expect(reads).toEqual({ [name]: 2 });
  });

  test("read nothing that none of them is about", () => {
    const { facts, reads } = createFacts("a=1");
    const targets = new Targets({ rules: rulesOf(() => ({ type: "ip", in: ["::/0"] })) });
    targets.choose(facts);
    new Targets({}).choose(facts);
    expect(reads).toEqual({});
  });
});

const many = (count: number): string => Array.from({ length: count }, () => "a=1").join("&&");

describe("a parameter", () => {
  test("is found among the first 256, between any number of separators", () => {
    for (const [query, found] of [
      [`${many(255)}&last=%C3%BC&more`, [["ü"], []]],
      [`${many(256)}&last=1`, [[], []]],
      [`${"&".repeat(10_000)}last&more=1&`, [[""], ["1"]]],
      [`last=${"x".repeat(10_000)}&more=`, [["x".repeat(10_000)], [""]]],
    ] as const) {
      const { facts } = createFacts(query);
      expect([facts.parameter("last"), facts.parameter("more")]).toEqual(found.map((v) => [...v]));
    }
  });

  test("of thousands is not looked at", () => {
    const { facts } = createFacts("a&".repeat(7_900));
    expect(countParses(() => facts.parameter("a"))).toEqual([256]);
    expect(facts.parameter("a")).toHaveLength(256);
  });

  test("has the values that the form parser finds, request after request", () => {
    let query = "";
    const { facts } = createFacts(() => query);
    const name = fc.constantFrom("a", "b", "%61", "ü", "");
    const value = fc.constantFrom("=1", "=", "", "=+", "=%C3%BC", "=%", "=1=2");
    const parameter = fc.tuple(name, value).map((parts) => parts.join(""));
    const separator = fc.constantFrom("&", "&&", ";");
    const anyQuery = fc
      .array(fc.tuple(parameter, separator), { maxLength: 256, size: "max" })
      .map((parts) => parts.flat().join(""));
    fc.assert(
      fc.property(anyQuery, fc.array(name, { maxLength: 6 }), (text, names) => {
        query = text;
        facts.forget();
        for (const asked of names)
          expect(facts.parameter(asked)).toEqual(new URLSearchParams(text).getAll(asked));
      }),
      { numRuns: casesOf(500) },
    );
  });
});

test("of a header of thousands of languages, those at its beginning count", () => {
  const few = `fr;q=0.5,de-AT;q=0.9,${"en;q=0.1,".repeat(61)}`;
  expect(preferredLanguage(`${few}ja`)).toBe("ja");
  expect(preferredLanguage(`${few}en;q=0.1,ja`)).toBe("de-at");
  expect(preferredLanguage(`de${";x".repeat(5_000)};q=0,en;q=0.1`)).toBe("de");
});

test("an explanation repeats of each value no more than a condition's own may have", () => {
  const rules = rulesOf((i) => ({ type: "query", name: "a", in: [`x${i}`] }));
  const told = (query: string) =>
    [...new Targets({ rules }).explain(createFacts(query).facts)].flatMap(({ conditions }) =>
      conditions.map(({ actual }) => actual),
    );
  expect(new Set(told(`a=${"x".repeat(255)}`))).toEqual(new Set(["x".repeat(255)]));
  expect(new Set(told(`a=${"x".repeat(256)}`))).toEqual(new Set([`${"x".repeat(254)}…`]));
  expect(told("a&".repeat(4_096))).toHaveLength(200);
});

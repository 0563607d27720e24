/** Goal: a click is judged as its request was, or not at all. */
import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import type { Condition, Rule } from "../../../shared/contracts/redirect-settings.ts";
import { rememberFacts, toAgentNames } from "../../../shared/decision/facts.ts";
import { compileTargets } from "../../../shared/decision/targets.ts";
import { casesOf } from "../../../test/harness/property-runs.ts";
import { compileRules, type StoredClick } from "./evaluate.ts";

const ruleOf = (...conditions: Condition[]): Rule => ({ id: "r", url: "https://e.x/", conditions });

const CLICK_TIME = "2026-01-05T12:00:00Z";

const CLICK: StoredClick = {
  at: Date.parse(CLICK_TIME),
  country: "DE",
  continent: "EU",
  device: "mobile",
  os: "iOS",
  browser: "Safari",
  language: "de",
  referrer: "direct",
};

describe("a stored click", () => {
  test.each<[Condition, boolean | undefined]>([
    [{ type: "continent", in: ["EU"] }, true],
    [{ type: "continent", in: ["EU"], not: true }, false],
    [{ type: "os", in: ["ios"] }, true],
    [{ type: "language", in: ["de"] }, true],
    [{ type: "language", in: ["de-at"] }, undefined],
    [{ type: "language", in: ["de-at"], not: true }, undefined],
    [{ type: "language", in: ["de-at", "de"] }, true],
    [{ type: "language", in: ["den"] }, false],
    [{ type: "language", in: ["fr-ca"] }, false],
    [{ type: "language", in: ["de-latn-at"] }, undefined],
    [{ type: "query", name: "a" }, undefined],
    [{ type: "ip", in: ["0.0.0.0/0"] }, undefined],
    [{ type: "time", from: CLICK_TIME }, true],
    [{ type: "time", until: CLICK_TIME }, false],
  ])("is judged by %j as %p", (condition, expected) => {
    const verdict = compileRules([ruleOf(condition)])(CLICK);
    expect(verdict).toEqual(
      expected === false ? undefined : { rule: 0, isCertain: expected === true },
    );
  });

  test("without a language has none of a region either", () => {
    const evaluate = compileRules([ruleOf({ type: "language", in: ["de-at"] })]);
    expect(evaluate({ ...CLICK, language: "" })).toBeUndefined();
  });
});

test("the names of a click are put into the case of conditions once for all of them", () => {
  const conditions = Array.from({ length: 10 }, (_, i) => ({
    type: "os" as const,
    in: [`x${i}`],
    not: true,
  }));
  const evaluate = compileRules(
    Array.from({ length: 20 }, () => ruleOf(...conditions, { type: "time", until: CLICK_TIME })),
  );
  const spy = spyOn(String.prototype, "toLowerCase");
  try {
    expect(evaluate(CLICK)).toBeUndefined();
    // The system and the browser.
    expect(spy).toHaveBeenCalledTimes(2);
  } finally {
    spy.mockRestore();
  }
});

/** What a request has and a click keeps of it, and what only the request has. */
const anyRequest = fc.record({
  country: fc.constantFrom("DE", "AT", "US"),
  os: fc.constantFrom("iOS", "Android"),
  language: fc.constantFrom("de", "de-at", "de-ch", "en", "en-us", ""),
  referrer: fc.constantFrom("direct", "example.com"),
  query: fc.constantFrom("", "a=1"),
  address: fc.constantFrom("203.0.113.7", "198.51.100.1"),
});

const anyCondition: fc.Arbitrary<Condition> = fc
  .tuple(
    fc.oneof(
      fc.record({ type: fc.constant("country" as const), in: fc.constant(["DE"]) }),
      fc.record({ type: fc.constant("os" as const), in: fc.constant(["ios"]) }),
      fc.record({
        type: fc.constant("language" as const),
        in: fc.uniqueArray(fc.constantFrom("de", "de-at", "en-us"), { minLength: 1 }),
      }),
      fc.record({ type: fc.constant("referrer" as const), in: fc.constant(["direct"]) }),
      fc.record({ type: fc.constant("query" as const), name: fc.constant("a") }),
      fc.record({ type: fc.constant("ip" as const), in: fc.constant(["203.0.113.0/24"]) }),
    ),
    fc.boolean(),
  )
  .map(([condition, not]) => ({ ...condition, not }));

test("what is certain is what the redirector decided, and what is not comes at the latest where it did", () => {
  let certain = 0;
  fc.assert(
    fc.property(
      fc.array(fc.array(anyCondition, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      anyRequest,
      (sets, request) => {
        const rules = sets.map((conditions, i) => ({ ...ruleOf(...conditions), id: String(i) }));
        const { facts } = rememberFacts({
          now: () => 0,
          address: () => request.address,
          location: () => ({ country: request.country, continent: "EU" }),
          userAgent: () => "",
          agent: () => toAgentNames({ browser: "Safari", os: request.os, device: "mobile" }),
          language: () => request.language,
          source: () => request.referrer,
          query: () => request.query,
        });
        const decided = compileTargets({ rules }).choose(facts)?.id;
        const verdict = compileRules(rules)({
          at: 0,
          country: request.country,
          continent: "EU",
          os: request.os,
          language: request.language.split("-")[0] ?? "",
          referrer: request.referrer,
        });
        if (verdict === undefined) expect(decided).toBeUndefined();
        else if (verdict.isCertain) expect(decided).toBe(String(verdict.rule));
        else expect(Number(decided ?? Infinity)).toBeGreaterThanOrEqual(verdict.rule);
        if (verdict?.isCertain === true) certain++;
      },
    ),
    { numRuns: casesOf(5_000) },
  );
  expect(certain).toBeGreaterThan(casesOf(500));
});

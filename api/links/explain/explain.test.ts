/** Goal: an explanation costs no more for many conditions than for one, whatever the request, and stays short. */
import { expect, spyOn, test } from "bun:test";

import { encodeId, newUuid } from "../../../shared/ids.ts";
import { countParses } from "../../../test/harness/count-parses.ts";
import { linkRow } from "../../../test/harness/link-row.ts";
import type { LinkRow } from "../model.ts";
import { explainRequest } from "./explain.ts";
import type { ExplainBody } from "./model.ts";

type Condition = NonNullable<NonNullable<LinkRow["extras"]>["rules"]>[number]["conditions"][number];

const LINK = linkRow();

/** Explains a request for a link of which no rule matches, and each rule only by its last condition. */
function explain(
  body: ExplainBody,
  conditionOf: (i: number) => Condition,
  rules = 20,
  conditions = 10,
) {
  const settings = Array.from({ length: rules }, (_, rule) => ({
    id: encodeId("rule", newUuid()),
    url: "https://example.com/",
    conditions: Array.from({ length: conditions }, (_, i) => ({
      ...conditionOf(conditions * rule + i),
      not: i < conditions - 1,
    })),
  }));
  const explained = explainRequest({ ...LINK, extras: { rules: settings } }, body, new Set());
  expect(explained.target?.kind).toBe("default");
  expect(explained.rules.flatMap((rule) => rule.conditions)).toHaveLength(rules * conditions);
  return explained;
}

/** Most characters of a header and of a query that the route accepts. */
const LENGTH_MAX = 8_192;

const QUERIES = ["a&".repeat(LENGTH_MAX / 2), `a=${"%01".repeat(LENGTH_MAX / 3 - 1)}`];

test.each(QUERIES)("parses a query once for 200 conditions, and repeats little of it", (query) => {
  let length = 0;
  const parsed = countParses(() => {
    const explained = explain({ query }, (i) => ({ type: "query", name: "a", in: [`x${i}`] }));
    ({ length } = JSON.stringify(explained));
  });
  expect(parsed).toHaveLength(1);
  expect(Math.max(...parsed)).toBeLessThanOrEqual(256);
  // Each character may be escaped, and takes six then.
  expect(length).toBeLessThan(200 * 6 * 255 + 50_000);
});

/** How often a pattern is tried on the user agent of a request that is explained. */
function countPatterns(rules: number, conditions: number): number {
  const spy = spyOn(RegExp.prototype, "exec");
  try {
    const user_agent = "Mozilla/5.0 (Linux; Android 13; ".padEnd(LENGTH_MAX, "x");
    explain({ user_agent }, (i) => ({ type: "os", in: [`x${i}`] }), rules, conditions);
    return spy.mock.calls.filter(([text]) => text.startsWith("Mozilla/5.0 (Linux")).length;
  } finally {
    spy.mockRestore();
  }
}

test("parses a user agent once for 200 conditions", () => {
  const once = countPatterns(1, 1);
  expect(once).toBeGreaterThan(10);
  expect(countPatterns(20, 10)).toBe(once);
});

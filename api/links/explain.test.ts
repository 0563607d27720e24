/**
 * Goal: an explanation costs no more for many conditions than for one, whatever the request, stays
 * short, and lets other requests have their turn.
 */
import { expect, spyOn, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { TimeSlice } from "../../shared/time-slice.ts";
import { countParses } from "../../test/harness/count-parses.ts";
import { linkRow } from "../../test/harness/link-row.ts";
import { type ExplainBody, explainRequest } from "./explain.ts";
import type { LinkRow } from "./model.ts";

type Condition = NonNullable<NonNullable<LinkRow["extras"]>["rules"]>[number]["conditions"][number];

const LINK = linkRow();

/** A time slice that lasts until the work is done, which is then counted as a whole. */
const WHOLE = new TimeSlice(Infinity);

/**
 * Explains a request for a link of which no rule matches, and each rule only by its last condition.
 */
async function explain(
  body: ExplainBody,
  conditionOf: (i: number) => Condition,
  { rules = 20, conditions = 10, slice = WHOLE } = {},
) {
  const settings = Array.from({ length: rules }, (_, rule) => ({
    id: encodeId("rule", newUuid()),
    url: "https://example.com/",
    conditions: Array.from({ length: conditions }, (_, i) => ({
      ...conditionOf(conditions * rule + i),
      not: i < conditions - 1,
    })),
  }));
  const link = { ...LINK, extras: { rules: settings } };
  const explained = await explainRequest(link, body, new Set(), slice);
  expect(explained.target?.kind).toBe("default");
  expect(explained.rules.flatMap((rule) => rule.conditions)).toHaveLength(rules * conditions);
  return explained;
}

/** Most characters of a header and of a query that the route accepts. */
const LENGTH_MAX = 8_192;

const QUERIES = ["a&".repeat(LENGTH_MAX / 2), `a=${"%01".repeat(LENGTH_MAX / 3 - 1)}`];

test.each(QUERIES)(
  "parses a query once for 200 conditions, and repeats little of it",
  async (query) => {
    const explaining: ReturnType<typeof explain>[] = [];
    const parsed = countParses(() => {
      explaining.push(explain({ query }, (i) => ({ type: "query", name: "a", in: [`x${i}`] })));
    });
    const { length } = JSON.stringify(await Promise.all(explaining));
    expect(parsed).toHaveLength(1);
    expect(Math.max(...parsed)).toBeLessThanOrEqual(256);
    // Each character may be escaped, and takes six then.
    expect(length).toBeLessThan(200 * 6 * 255 + 50_000);
  },
);

/** How often a pattern is tried on the user agent of a request that is explained. */
async function countPatterns(rules: number, conditions: number): Promise<number> {
  const spy = spyOn(RegExp.prototype, "exec");
  try {
    const user_agent = "Mozilla/5.0 (Linux; Android 13; ".padEnd(LENGTH_MAX, "x");
    await explain({ user_agent }, (i) => ({ type: "os", in: [`x${i}`] }), { rules, conditions });
    return spy.mock.calls.filter(([text]) => text.startsWith("Mozilla/5.0 (Linux")).length;
  } finally {
    spy.mockRestore();
  }
}

test("parses a user agent once for 200 conditions", async () => {
  const once = await countPatterns(1, 1);
  expect(once).toBeGreaterThan(10);
  expect(await countPatterns(20, 10)).toBe(once);
});

test("lets what arrives meanwhile, and turns of other explanations, come between its own", async () => {
  const ended: string[] = [];
  async function end(name: string, rules: number): Promise<void> {
    // A time slice that is over after each rule.
    await explain({}, () => ({ type: "os", in: ["x"] }), { rules, slice: new TimeSlice(0) });
    ended.push(name);
  }
  setImmediate(() => ended.push("what arrived"));
  await Promise.all([end("long", 20), end("short", 2)]);
  expect(ended).toEqual(["what arrived", "short", "long"]);
});

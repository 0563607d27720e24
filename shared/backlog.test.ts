/** Goal: a process sheds work while all that arrives waits, and not for one long turn. */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { createBacklog } from "./backlog.ts";

/**
 * Adds turns one after the other, each of which stalls the event loop for so long; returns whether
 * it is behind then.
 */
function isBehindAfter(stalls: readonly number[]): boolean {
  const backlog = createBacklog();
  let now = 1_000;
  for (const stall of stalls) backlog.add(stall, (now += stall + 10));
  return backlog.isBehind();
}

test.each([
  ["nothing", [], false],
  ["one long turn", [900], false],
  ["two long turns", [900, 900], true],
  ["long turns for half a second", Array<number>(9).fill(60), true],
  ["long turns for less", Array<number>(8).fill(60), false],
  ["long turns, one of which was short", [...Array<number>(6).fill(60), 5, 60], false],
  ["many turns of 49 ms", Array<number>(100).fill(49), false],
])("after %s", (_name, stalls, expected) => {
  expect(isBehindAfter(stalls)).toBe(expected);
});

test("after a turn that was not late, it is not behind, whatever came before", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2_000 })), fc.nat({ max: 49 }), (stalls, last) => {
      expect(isBehindAfter([...stalls, last])).toBe(false);
    }),
  );
});

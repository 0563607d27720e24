/** Goal: what a version of a split got is told as its share of that split. Method: rows. */
import { describe, expect, test } from "bun:test";

import { type Counts, letterOf, shareOfSplit, toWeight, versionName } from "./split-editor.tsx";

const target = (kind: Counts["kind"], id: string | null, clicks: number): Counts => ({
  kind,
  id,
  label: null,
  url: null,
  clicks,
  unique_clicks: clicks,
  percentage: 0,
});

const own = target("default", null, 60);
const first = target("arm", "a", 30);
const second = target("arm", "b", 10);
const removed = target("arm", "gone", 500);
const rule = target("rule", "r", 900);

describe("the share of the split", () => {
  test.each([
    ["of the link's own destination", own, [own, first, second], 60],
    ["of a version", first, [own, first, second], 30],
    ["leaves the clicks of rules out", first, [own, first, second, rule], 30],
    ["leaves the clicks of removed versions out", second, [own, first, second, removed], 10],
    ["has one decimal", first, [first, target("default", null, 60)], 33.3],
    ["is 0 without clicks", target("arm", "a", 0), [target("arm", "a", 0)], 0],
  ])("%s", (_, one, targets, share) => {
    expect(shareOfSplit(one, targets, new Set(["a", "b"]))).toBe(share);
  });
});

test("versions are named by their labels, or in their order from the link's own destination on", () => {
  expect([0, 1, 10].map(letterOf)).toEqual(["A", "B", "K"]);
  expect([versionName(undefined, 0), versionName(" ", 1), versionName("New page", 2)]).toEqual([
    "Version A",
    "Version B",
    "New page",
  ]);
});

test.each([
  ["30", 30],
  ["", 0],
  ["x", 0],
  ["-4", 0],
  ["250", 100],
  ["12.9", 12],
])("a typed share %p counts as %p", (text, weight) => {
  expect(toWeight(text)).toBe(weight);
});

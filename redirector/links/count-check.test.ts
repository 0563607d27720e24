/** Goal: links that are missing are noticed, and deleted ones are not taken for missing. */
import { expect, test } from "bun:test";

import { createCountCheck } from "./count-check.ts";

/** What a check returns for counts of PostgreSQL, each with the number of links in the store. */
function check(...counts: [counted: number, links: number][]): (number | undefined)[] {
  const compare = createCountCheck();
  return counts.map(([counted, links]) => compare(counted, links));
}

test("links are missing once four counts in a row are above what the store has", () => {
  expect(check([9, 7], [9, 7], [9, 7], [9, 7])).toEqual([undefined, undefined, undefined, 2]);
});

test("one count that was outdated says nothing", () => {
  expect(check([9, 7], [9, 7], [9, 7], [7, 7], [9, 7])).toEqual([
    undefined,
    undefined,
    undefined,
    0,
    undefined,
  ]);
});

test("a store with more links than were counted lacks none", () => {
  expect(check([7, 9])).toEqual([0]);
});

test("while links are deleted, each count is outdated, and none of them says that links are missing", () => {
  const deleting = Array.from({ length: 20 }, (_, i): [number, number] => [100 - i, 99 - i]);
  expect(check(...deleting).filter((lacks) => lacks !== undefined)).toEqual([]);
});

test("links that are missing are noticed when the deletions have ended", () => {
  const deleting = Array.from({ length: 9 }, (_, i): [number, number] => [100 - i, 90 - i]);
  const after = Array.from({ length: 4 }, (): [number, number] => [92, 82]);
  expect(check(...deleting, ...after)).toContain(10);
});

/** Goal: reads that wait for the disk go to a thread, and no others. */
import { expect, test } from "bun:test";

import { DiskSpeed } from "./link-reads.ts";

/** Notes a read that ends at 1,000 ms, and after which the process has read so many blocks. */
function isSlowAfter(readMs: number, blocksAfter: number): (now: number) => boolean {
  let blocks = 7;
  const speed = new DiskSpeed(() => blocks);
  blocks = blocksAfter;
  speed.note(1_000 - readMs, 1_000);
  return (now) => speed.isSlow(now);
}

test("after a read that waited for the disk, reads are slow for half a second", () => {
  const isSlow = isSlowAfter(3, 8);
  expect([1_000, 1_499, 1_501].map(isSlow)).toEqual([true, true, false]);
});

test("a short read from the disk makes none slow", () => {
  expect(isSlowAfter(1, 8)(1_000)).toBe(false);
});

test("a read that waited for a processor makes none slow", () => {
  expect(isSlowAfter(100, 7)(1_000)).toBe(false);
});

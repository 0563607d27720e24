/** Goal: reads that wait for the disk go to a thread, and no others; that thread is never flooded. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";

import { EMPTY_LOG, toChange } from "../../shared/links-store/schema.ts";
import { dirForEach } from "../../test/harness/for-file.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { DiskSpeed, SlowReads } from "./slow-reads.ts";
import { currentFolder } from "./store-files.ts";
import { LogStore } from "./store.ts";

const dir = dirForEach("shorthop-slow-reads-");
let slowReads: SlowReads;
beforeEach(() => {
  slowReads = new SlowReads(dir());
});
afterEach(() => slowReads.stop());

test("a read ends when there is no store, when there is one, and when another one took its place", async () => {
  await slowReads.prefetch("", "link");
  for (let i = 0; i < 2; i++) {
    using store = new LogStore(currentFolder(dir()), 0);
    const link = activeLink("link", 1);
    store.write([toChange(link)], EMPTY_LOG);
    await slowReads.prefetch("", "link");
    await slowReads.prefetch("", "unknown");
    rmSync(currentFolder(dir()), { recursive: true });
  }
});

test("more reads than the thread may have waiting fail at once", async () => {
  const reads = Array.from({ length: 513 }, (_, i) => slowReads.prefetch("", `link-${i}`));
  const results = await Promise.allSettled(reads);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await slowReads.prefetch("", "link");
});

/** Notes a read that ends at 1,000 ms, and after which the thread has read so many bytes. */
function isSlowAfter(readMs: number, bytesAfter: number): (now: number) => boolean {
  let bytes = 7;
  const speed = new DiskSpeed(() => bytes);
  bytes = bytesAfter;
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

/**
 * Goal: whatever a disk does to one bit of a links store, either every link is as it was written,
 * or the host finds the damage by itself.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";

import { EMPTY_LOG, toChange, toMalformed } from "../../shared/links-store/schema.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { isDamage, storePath } from "./store-files.ts";
import { LogStore, StoreReader, StoreScrub } from "./store.ts";

const LINKS = Array.from({ length: 250 }, (_, i) => activeLink(`alias-${i}`, i + 1));

const dir = dirForFile("shorthop-scrub-");
const pristine = join(dir, "pristine");
using writer = new LogStore(dir, 0);
const changes = LINKS.map((link) => toChange(link));
writer.write([...changes, toMalformed(activeLink("malformed", 1))], EMPTY_LOG);
const db = new Database(storePath(dir));
db.run("PRAGMA wal_checkpoint(TRUNCATE)");
db.close();
copyFileSync(storePath(dir), pristine);

/** Reads the whole store, or until it finds damage. */
function scrub(): boolean {
  let clock = 0;
  using reader = new StoreReader(dir);
  // Each call is a turn of its own.
  const storeScrub = new StoreScrub(reader, () => (clock += 1_000));
  for (let turn = 0; turn < LINKS.length; turn++) if (storeScrub.findsDamage()) return true;
  return false;
}

/** Whether each link is found as it was written, or damage is. */
function areLinksRight(): boolean {
  using reader = new StoreReader(dir);
  return LINKS.every((link) =>
    findsDamage(() => Bun.deepEquals(reader.find("", link.alias), link)),
  );
}

/** Returns the result of `work`, or true when it meets damage. */
function findsDamage(work: () => boolean): boolean {
  try {
    return work();
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  }
}

test("a whole store has no damage", () => {
  copyFileSync(pristine, storePath(dir));
  expect([scrub(), areLinksRight()]).toEqual([false, true]);
});

test("one bit that is flipped anywhere is found, or no link is missing or another", () => {
  const content = readFileSync(pristine);
  fc.assert(
    fc.property(fc.nat(content.length - 1), fc.nat(7), (position, bit) => {
      const damaged = Buffer.from(content);
      damaged[position] = (damaged[position] ?? 0) ^ (1 << bit);
      for (const suffix of ["-wal", "-shm"]) rmSync(`${storePath(dir)}${suffix}`, { force: true });
      writeFileSync(storePath(dir), damaged);
      expect(findsDamage(scrub) || findsDamage(areLinksRight)).toBe(true);
    }),
    { numRuns: casesOf(200) },
  );
});

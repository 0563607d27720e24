import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { dirForEach } from "../../test/harness/for-file.ts";
import { encodeSegmentHeader } from "../contracts/click-segment.ts";
import { newUuid } from "../ids.ts";
import {
  countQuarantine,
  listQuarantine,
  quarantineBytes,
  quarantineSegment,
  restoreQuarantine,
} from "./quarantine.ts";

const dir = dirForEach("shorthop-quarantine-");

function write(name: string, bytes: Buffer | string): string {
  const path = join(dir(), name);
  writeFileSync(path, bytes);
  return path;
}

const header = (): Buffer => encodeSegmentHeader({ journalId: newUuid(), segment: 0 });

describe("the quarantine", () => {
  test("is empty when nothing was ever quarantined", async () => {
    expect([listQuarantine(dir()), quarantineBytes(dir()), await countQuarantine(dir())]).toEqual([
      [],
      0,
      0,
    ]);
    expect(restoreQuarantine(dir())).toEqual([]);
  });

  test("keeps a file unchanged, readable only by its owner", async () => {
    quarantineSegment(write("a.page", "broken"));
    expect(readdirSync(dir())).toEqual(["quarantine"]);
    expect(readFileSync(join(dir(), "quarantine", "a.page"), "utf8")).toBe("broken");
    expect(statSync(join(dir(), "quarantine")).mode & 0o777).toBe(0o700);
    expect([quarantineBytes(dir()), await countQuarantine(dir())]).toEqual([6, 1]);
  });

  test("never replaces a file", () => {
    quarantineSegment(write("a.page", "first"));
    expect(() => quarantineSegment(write("a.page", "second"))).toThrow("exists already");
    expect(readFileSync(join(dir(), "quarantine", "a.page"), "utf8")).toBe("first");
    expect(readFileSync(join(dir(), "a.page"), "utf8")).toBe("second");
  });

  test("restores readable segments, and keeps others with the reason", () => {
    const good = header();
    quarantineSegment(write("good.page", good));
    quarantineSegment(write("bad.page", "no segment"));
    expect(restoreQuarantine(dir())).toEqual([
      { file: "bad.page", restored: false, problem: "not a segment of clicks" },
      { file: "good.page", restored: true, problem: null },
    ]);
    expect(readFileSync(join(dir(), "good.page")).equals(good)).toBe(true);
    expect(listQuarantine(dir())).toEqual(["bad.page"]);
  });
});

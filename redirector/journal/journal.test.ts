import { afterAll, afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { toRawClick } from "../../shared/contracts/click-record.ts";
import { decodeSegment, SEGMENT_CLICKS_MAX } from "../../shared/contracts/click-segment.ts";
import { canMountDisks, mountDisk, remountDisk, unmountDisk } from "../../test/harness/disks.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { testClick } from "../../test/harness/segments.ts";
import type { SealedSegment } from "./files.ts";
import { Journal } from "./journal.ts";

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "shorthop-journal-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function open(bytesMax = 10_000_000) {
  const sealed: SealedSegment[] = [];
  const unknown: string[] = [];
  const errors: unknown[] = [];
  const journal = new Journal(dir, bytesMax, {
    sealed: (segment) => void sealed.push(segment),
    failed: (error) => void errors.push(error),
    unknownFile: ({ name }) => void unknown.push(name),
  });
  const clicks = () =>
    sealed.flatMap(({ path }) => decodeSegment(readFileSync(path))?.clicks ?? []);
  return { journal, sealed, unknown, errors, clicks };
}

describe("the click journal", () => {
  test("a click is on disk once it is committed", () => {
    const { journal } = open();
    journal.append(toRawClick(testClick({ userAgent: "first" })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    expect(decodeSegment(readFileSync(join(dir, name)))?.clicks).toEqual([
      testClick({ userAgent: "first" }),
    ]);
    journal.close();
  });

  test("segments are sealed when full, numbered without gaps, and hold every click once", () => {
    const { journal, sealed, clicks } = open();
    const total = 2 * SEGMENT_CLICKS_MAX + 10;
    for (let i = 0; i < total; i++) journal.append(toRawClick(testClick({ time: i })));
    journal.close();
    expect(sealed.map(({ segment }) => segment)).toEqual([0, 1, 2]);
    expect(sealed.map((segment) => segment.clicks)).toEqual([
      SEGMENT_CLICKS_MAX,
      SEGMENT_CLICKS_MAX,
      10,
    ]);
    expect(clicks().map(({ time }) => time)).toEqual(Array.from({ length: total }, (_, i) => i));
  });

  test("a segment is sealed soon, however few clicks it holds", async () => {
    const { journal, sealed } = open();
    journal.append(toRawClick(testClick()));
    journal.commit();
    await eventually(async () => expect(sealed).toHaveLength(1), 2_000);
    journal.close();
  });

  test("a segment is sealed soon, also when the clock has been set back by an hour", async () => {
    const { journal, sealed } = open();
    journal.append(toRawClick(testClick()));
    journal.commit();
    const hourAgo = Date.now() - 3_600_000;
    using _ = spyOn(Date, "now").mockReturnValue(hourAgo);
    for (let polls = 0; polls < 500 && sealed.length === 0; polls++) await Bun.sleep(20);
    expect(sealed).toHaveLength(1);
    journal.close();
  });

  test("a segment that a killed process left open is recovered under its id, wherever it is torn", () => {
    const { journal } = open();
    for (let i = 0; i < 3; i++) journal.append(toRawClick(testClick({ time: i })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    const whole = readFileSync(join(dir, name));
    // Killed: the segment stays open. The next process finds a truncated copy of it.
    const firstDir = dir;
    for (let cut = 0; cut <= whole.length; cut++) {
      dir = mkdtempSync(join(tmpdir(), "shorthop-journal-"));
      writeFileSync(join(dir, name), whole.subarray(0, cut));
      const next = open();
      const expected = decodeSegment(whole.subarray(0, cut))?.clicks ?? [];
      expect(next.clicks()).toEqual(expected);
      for (const segment of next.sealed) {
        expect(name).toStartWith(`${segment.journalId}-`);
        expect(statSync(segment.path).size).toBe(segment.bytes);
      }
      next.journal.close();
      rmSync(dir, { recursive: true });
    }
    dir = firstDir;
    journal.close();
  });

  test("sealed segments that were not published come before new ones, in order", () => {
    const before = open();
    for (let i = 0; i < SEGMENT_CLICKS_MAX + 1; i++)
      before.journal.append(toRawClick(testClick({ time: i })));
    before.journal.close();
    const after = open();
    after.journal.append(toRawClick(testClick({ time: -1 })));
    after.journal.close();
    expect(after.clicks().map(({ time }) => time)).toEqual([
      ...Array.from({ length: SEGMENT_CLICKS_MAX + 1 }, (_, i) => i),
      -1,
    ]);
    expect(new Set(after.sealed.map(({ journalId }) => journalId)).size).toBe(2);
  });

  test("the file of a published segment is reused for a later one, and keeps nothing of the first", () => {
    const { journal, sealed, errors } = open();
    const fill = (time: number) => {
      for (let i = 0; i < SEGMENT_CLICKS_MAX; i++) journal.append(toRawClick(testClick({ time })));
    };
    fill(1);
    const [first] = sealed;
    if (first === undefined) throw new Error("No segment was sealed.");
    const { ino } = statSync(first.path);
    truncateSync(first.path);
    journal.recycle(first);
    journal.append(toRawClick(testClick({ time: 2 })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    expect(readdirSync(dir)).toEqual([name]);
    expect(statSync(join(dir, name)).ino).toBe(ino);
    const decoded = decodeSegment(readFileSync(join(dir, name)));
    expect([decoded?.segment, decoded?.whole, decoded?.clicks]).toEqual([
      1,
      true,
      [testClick({ time: 2 })],
    ]);
    expect(errors).toEqual([]);
    journal.close();
  });

  test("truncated files are deleted on close, and after a crash by the next process", () => {
    const { journal, sealed } = open();
    for (let i = 0; i < 3 * SEGMENT_CLICKS_MAX; i++) journal.append(toRawClick(testClick()));
    for (const { path } of sealed) truncateSync(path);
    const next = open();
    expect([next.sealed, next.unknown, readdirSync(dir)]).toEqual([[], [], []]);
    next.journal.close();
    for (const { path } of sealed) writeFileSync(path, "");
    for (const segment of sealed) journal.recycle(segment);
    journal.close();
    expect(readdirSync(dir)).toEqual([]);
  });

  test("a file that cannot be reused drops no click", () => {
    const { journal, sealed, clicks, errors } = open();
    for (let i = 0; i < SEGMENT_CLICKS_MAX; i++) journal.append(toRawClick(testClick()));
    const [first] = sealed.splice(0);
    if (first === undefined) throw new Error("No segment was sealed.");
    rmSync(first.path);
    journal.recycle(first);
    journal.append(toRawClick(testClick({ time: 2 })));
    journal.close();
    expect(clicks()).toEqual([testClick({ time: 2 })]);
    expect(errors).toHaveLength(1);
  });

  test("files that hold no segment are left alone and reported", () => {
    writeFileSync(join(dir, "notes.txt"), "mine");
    const name = "0190a5a2-0000-7000-8000-000000000001-0000000000.segment";
    writeFileSync(join(dir, name), "not a segment");
    const { journal, sealed, unknown } = open();
    journal.close();
    expect(sealed).toEqual([]);
    expect(unknown).toEqual([name]);
    expect(readdirSync(dir).toSorted()).toEqual([name, "notes.txt"].toSorted());
  });

  test("segments that are sealed or open are recovered under their ids, and quarantined ones are left alone", () => {
    const before = open();
    for (let i = 0; i < SEGMENT_CLICKS_MAX + 1; i++)
      before.journal.append(toRawClick(testClick({ time: i })));
    before.journal.commit();
    const [sealed] = before.sealed;
    const quarantine = join(dir, "quarantine");
    mkdirSync(quarantine);
    copyFileSync(sealed?.path ?? "", join(quarantine, basename(sealed?.path ?? "")));
    const after = open();
    expect(after.clicks().map(({ time }) => time)).toEqual(
      Array.from({ length: SEGMENT_CLICKS_MAX + 1 }, (_, i) => i),
    );
    expect(after.sealed.map(({ journalId, segment }) => ({ journalId, segment }))).toEqual([
      { journalId: before.journal.id, segment: 0 },
      { journalId: before.journal.id, segment: 1 },
    ]);
    expect([after.unknown, after.errors]).toEqual([[], []]);
    expect(readdirSync(quarantine)).toEqual([basename(sealed?.path ?? "")]);
    after.journal.close();
    before.journal.close();
  });

  test("a file that cannot be read is quarantined at the start, and the others are recovered", () => {
    const before = open();
    before.journal.append(toRawClick(testClick()));
    before.journal.close();
    const name = "0190a5a2-0000-7000-8000-000000000001-0000000000.segment";
    mkdirSync(join(dir, name));
    const { journal, sealed, errors } = open();
    expect(sealed).toHaveLength(1);
    expect(errors).toHaveLength(1);
    expect(readdirSync(join(dir, "quarantine"))).toEqual([name]);
    expect(journal.stats().quarantined).toBe(1);
    journal.close();
  });

  test("quarantined bytes count against the journal's limit, so that they cannot fill the disk", () => {
    const bytes = 5_000;
    mkdirSync(join(dir, "quarantine"));
    writeFileSync(join(dir, "quarantine", "x.segment"), Buffer.alloc(bytes));
    const { journal } = open(6_000);
    expect(journal.stats().pendingBytes).toBe(bytes);
    journal.append(toRawClick(testClick()));
    expect(journal.stats().dropped.journal_full).toBe(1);
    journal.close();
  });

  test.each(["open", "sealed"])(
    "of a segment that is %s, and has a damaged record, every other click is recovered",
    (state) => {
      const { journal } = open();
      for (let i = 0; i < 5; i++) journal.append(toRawClick(testClick({ time: i })));
      journal.commit();
      const [openName = ""] = readdirSync(dir);
      const bytes = readFileSync(join(dir, openName));
      journal.close();
      const [sealedName = ""] = readdirSync(dir);
      const name = state === "open" ? openName : sealedName;
      const at = Math.floor(bytes.length / 2);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      rmSync(join(dir, sealedName));
      writeFileSync(join(dir, name), bytes);
      const next = open();
      expect(next.clicks().map(({ time }) => time)).toEqual([0, 1, 3, 4]);
      expect(next.sealed.map((segment) => [segment.bytes, segment.clicks])).toEqual([
        [bytes.length, 4],
      ]);
      next.journal.close();
    },
  );

  test("a segment in a file named after another is not published under that name", () => {
    const { journal, sealed } = open();
    journal.append(toRawClick(testClick()));
    journal.close();
    const path = sealed[0]?.path ?? "";
    copyFileSync(path, path.replace("-0000000000.segment", "-0000000007.segment"));
    const { unknown, sealed: recovered, journal: next } = open();
    next.close();
    expect(unknown).toHaveLength(1);
    expect(recovered).toHaveLength(1);
  });

  test("a full journal drops and counts clicks, and takes new ones when there is room again", () => {
    const { journal, sealed } = open(6_000);
    for (let i = 0; i < 20; i++) {
      journal.append(toRawClick(testClick({ userAgent: "x".repeat(500) })));
      journal.commit();
    }
    const { recorded, dropped } = journal.stats();
    expect(recorded).toBeGreaterThan(2);
    expect(dropped).toEqual({ journal_full: 20 - recorded, disk_error: 0 });
    expect(dropped.journal_full).toBeGreaterThan(2);
    journal.close();
    for (const segment of sealed) journal.recycle(segment);
    expect(journal.stats().pendingBytes).toBe(0);
  });

  test("a deleted directory drops and counts clicks, and never throws", () => {
    const { journal, errors } = open();
    rmSync(dir, { recursive: true });
    journal.append(toRawClick(testClick()));
    journal.append(toRawClick(testClick()));
    journal.commit();
    expect(journal.stats().dropped.disk_error).toBe(2);
    expect(errors).toHaveLength(1);
    journal.close();
  });

  const small = mkdtempSync(join(tmpdir(), "shorthop-small-"));
  const mounted = canMountDisks() && mountDisk(small, "64k");
  beforeEach(() => {
    for (const left of readdirSync(small)) rmSync(join(small, left));
  });
  afterAll(() => {
    if (mounted) unmountDisk(small);
    rmSync(small, { recursive: true });
  });

  test.skipIf(!mounted)(
    "a full disk drops and counts clicks, and keeps earlier ones intact",
    () => {
      const previousDir = dir;
      dir = small;
      const { journal, sealed, clicks } = open();
      for (let i = 0; i < 400; i++) {
        journal.append(toRawClick(testClick({ time: i, userAgent: "x".repeat(400) })));
        journal.commit();
      }
      const { recorded, dropped } = journal.stats();
      expect(dropped.disk_error).toBeGreaterThan(0);
      expect(recorded + dropped.disk_error).toBe(400);
      expect(clicks()).toHaveLength(recorded);
      // There is room again once segments are published.
      for (const segment of sealed.splice(0)) {
        rmSync(segment.path);
        journal.recycle(segment);
      }
      journal.append(toRawClick(testClick({ time: 1_000 })));
      journal.close();
      expect(clicks().map(({ time }) => time)).toContain(1_000);
      dir = previousDir;
    },
  );

  test.skipIf(!mounted)(
    "a process starts on a read-only disk, and the first on a writable one recovers all",
    () => {
      const { journal } = open();
      for (let i = 0; i < 3; i++) journal.append(toRawClick(testClick({ time: i })));
      journal.commit();
      const [name = ""] = readdirSync(dir);
      const whole = readFileSync(join(dir, name));
      journal.close();
      const previousDir = dir;
      dir = small;
      // Of a killed process: the last click of one is torn, another is to be reused.
      writeFileSync(join(dir, name), whole.subarray(0, -1));
      writeFileSync(join(dir, name.replace(/\d{10}/, "0000000099")), "");
      remountDisk(dir, "ro");
      const onReadOnly = open();
      expect(onReadOnly.errors).toHaveLength(2);
      expect(onReadOnly.sealed).toEqual([]);
      onReadOnly.journal.close();
      remountDisk(dir, "rw");
      const next = open();
      expect(next.errors).toEqual([]);
      expect(next.clicks().map(({ time }) => time)).toEqual([0, 1]);
      next.journal.close();
      dir = previousDir;
    },
  );
});

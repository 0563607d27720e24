/** Goal: every click that was committed is recovered once, whatever is torn, damaged, full or gone. */
import { afterAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
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

import { z } from "zod";

import { toRequestClick } from "../../shared/contracts/click-record.ts";
import { decodeSegment, SEGMENT_CLICKS_MAX } from "../../shared/contracts/click-segment.ts";
import { processLog } from "../../shared/log.ts";
import { canMountDisks, mountDisk, remountDisk, unmountDisk } from "../../test/harness/disks.ts";
import { dirForEach } from "../../test/harness/for-file.ts";
import { testClick } from "../../test/harness/segments.ts";
import type { SealedSegment } from "./files.ts";
import { Journal } from "./journal.ts";

const dir = dirForEach("shorthop-journal-");

const logLine = z.object({ event: z.string(), name: z.string().optional() });

/** A journal in a folder, which the test closes, and what it says. */
function open({ at = dir(), bytesMax = 10_000_000 } = {}) {
  const sealed: SealedSegment[] = [];
  const unknown: unknown[] = [];
  const errors: unknown[] = [];
  const log = processLog("test", "warn", {
    write(line) {
      const { event, name } = logLine.parse(JSON.parse(line));
      if (event === "journal_unknown_file") unknown.push(name);
      else errors.push(event);
    },
  });
  const publisher = { add: (segment: SealedSegment) => void sealed.push(segment) };
  const journal = new Journal(at, bytesMax, publisher, log);
  const clicks = () =>
    sealed.flatMap(({ path }) => decodeSegment(readFileSync(path))?.clicks ?? []);
  return {
    journal,
    sealed,
    unknown,
    errors,
    clicks,
    times: () => clicks().map(({ time }) => time),
    /** Records so many clicks, of the times from 0 on. */
    record(count: number) {
      for (let time = 0; time < count; time++) journal.append(toRequestClick(testClick({ time })));
      journal.commit();
    },
    [Symbol.dispose]: () => journal.close(),
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The only file of a folder, and its bytes. */
function readFile(folder = dir()) {
  const [name = "", ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  return { name, bytes: readFileSync(join(folder, name)) };
}

/** A name of a segment's file. */
const NAME = "0190a5a2-0000-7000-8000-000000000001-0000000000.segment";

describe("the click journal", () => {
  test("segments are sealed when full, numbered without gaps, and hold every click once", () => {
    const { journal, record, sealed, times } = open();
    record(2 * SEGMENT_CLICKS_MAX + 10);
    journal.close();
    expect(sealed.map(({ segment }) => segment)).toEqual([0, 1, 2]);
    const counts = sealed.map(({ clicks }) => clicks);
    expect(counts).toEqual([SEGMENT_CLICKS_MAX, SEGMENT_CLICKS_MAX, 10]);
    expect(times()).toEqual(upTo(2 * SEGMENT_CLICKS_MAX + 10));
  });

  test("a segment is sealed soon, also when the clock has been set back by an hour", async () => {
    using opened = open();
    opened.record(1);
    using _ = spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    for (let polls = 0; polls < 500 && opened.sealed.length === 0; polls++) await Bun.sleep(20);
    expect(opened.sealed).toHaveLength(1);
  });

  test("a segment that a killed process left open is recovered under its id, wherever it is torn", () => {
    using killed = open();
    killed.record(3);
    const { name, bytes } = readFile();
    // The next process finds a truncated copy of it.
    for (let cut = 0; cut <= bytes.length; cut++) {
      const at = mkdtempSync(join(dir(), "cut-"));
      writeFileSync(join(at, name), bytes.subarray(0, cut));
      using next = open({ at });
      expect(next.clicks()).toEqual(decodeSegment(bytes.subarray(0, cut))?.clicks ?? []);
      for (const segment of next.sealed) {
        expect(name).toStartWith(`${segment.journalId}-`);
        expect(statSync(segment.path).size).toBe(segment.bytes);
      }
    }
  });

  test("the file of a published segment is reused for a later one, and keeps nothing of the first", () => {
    using opened = open();
    const { journal, record, sealed, errors } = opened;
    record(SEGMENT_CLICKS_MAX);
    const [first] = sealed;
    if (first === undefined) throw new Error("No segment was sealed.");
    const { ino } = statSync(first.path);
    truncateSync(first.path);
    journal.recycle(first);
    record(1);
    const { name, bytes } = readFile();
    expect(statSync(join(dir(), name)).ino).toBe(ino);
    expect(decodeSegment(bytes)).toMatchObject({ segment: 1, whole: true, clicks: [{ time: 0 }] });
    expect(errors).toEqual([]);
  });

  test("truncated files are deleted on close, and after a crash by the next process", () => {
    const { journal, record, sealed } = open();
    record(3 * SEGMENT_CLICKS_MAX);
    for (const { path } of sealed) truncateSync(path);
    const next = open();
    expect([next.sealed, next.unknown, readdirSync(dir())]).toEqual([[], [], []]);
    next.journal.close();
    for (const { path } of sealed) writeFileSync(path, "");
    for (const segment of sealed) journal.recycle(segment);
    journal.close();
    expect(readdirSync(dir())).toEqual([]);
  });

  test("a file that cannot be reused drops no click", () => {
    const { journal, record, sealed, times, errors } = open();
    record(SEGMENT_CLICKS_MAX);
    const [first] = sealed.splice(0);
    if (first === undefined) throw new Error("No segment was sealed.");
    rmSync(first.path);
    journal.recycle(first);
    record(1);
    journal.close();
    expect(times()).toEqual([0]);
    expect(errors).toHaveLength(1);
  });

  test("files that hold no segment are left alone and reported", () => {
    writeFileSync(join(dir(), "notes.txt"), "mine");
    writeFileSync(join(dir(), NAME), "not a segment");
    using opened = open();
    expect([opened.sealed, opened.unknown]).toEqual([[], [NAME]]);
    expect(readdirSync(dir()).toSorted()).toEqual([NAME, "notes.txt"]);
  });

  test("segments that are sealed or open are recovered under their ids, and quarantined ones are left alone", () => {
    using before = open();
    before.record(SEGMENT_CLICKS_MAX + 1);
    const path = before.sealed[0]?.path ?? "";
    const quarantine = join(dir(), "quarantine");
    mkdirSync(quarantine);
    copyFileSync(path, join(quarantine, basename(path)));
    using after = open();
    expect(after.times()).toEqual(upTo(SEGMENT_CLICKS_MAX + 1));
    const { id } = before.journal;
    expect(after.sealed).toMatchObject([0, 1].map((segment) => ({ journalId: id, segment })));
    expect([after.unknown, after.errors]).toEqual([[], []]);
    expect(readdirSync(quarantine)).toEqual([basename(path)]);
  });

  test("a file that cannot be read is quarantined at the start, and the others are recovered", () => {
    const before = open();
    before.record(1);
    before.journal.close();
    mkdirSync(join(dir(), NAME));
    using after = open();
    expect([after.sealed.length, after.errors.length]).toEqual([1, 1]);
    expect(readdirSync(join(dir(), "quarantine"))).toEqual([NAME]);
    expect(after.journal.stats().quarantined).toBe(1);
  });

  test("quarantined bytes count against the journal's limit, so that they cannot fill the disk", () => {
    const bytes = 5_000;
    mkdirSync(join(dir(), "quarantine"));
    writeFileSync(join(dir(), "quarantine", "x.segment"), Buffer.alloc(bytes));
    using opened = open({ bytesMax: 6_000 });
    expect(opened.journal.stats().pendingBytes).toBe(bytes);
    opened.record(1);
    expect(opened.journal.stats().dropped.journal_full).toBe(1);
  });

  test.each(["open", "sealed"])(
    "of a segment that is %s, and has a damaged record, every other click is recovered",
    (state) => {
      const before = open();
      before.record(5);
      const opened = readFile();
      before.journal.close();
      const sealed = readFile();
      const { name } = state === "open" ? opened : sealed;
      const { bytes } = opened;
      const at = Math.floor(bytes.length / 2);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      rmSync(join(dir(), sealed.name));
      writeFileSync(join(dir(), name), bytes);
      using next = open();
      expect(next.times()).toEqual([0, 1, 3, 4]);
      expect(next.sealed).toMatchObject([{ bytes: bytes.length, clicks: 4 }]);
    },
  );

  test("a segment in a file named after another is not published under that name", () => {
    const before = open();
    before.record(1);
    before.journal.close();
    const path = before.sealed[0]?.path ?? "";
    copyFileSync(path, path.replace("-0000000000.segment", "-0000000007.segment"));
    using after = open();
    expect([after.unknown.length, after.sealed.length]).toEqual([1, 1]);
  });

  test("a full journal drops and counts clicks, and takes new ones when there is room again", () => {
    const { journal, sealed } = open({ bytesMax: 6_000 });
    for (let i = 0; i < 20; i++) {
      journal.append(toRequestClick(testClick({ userAgent: "x".repeat(500) })));
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
    using opened = open();
    rmSync(dir(), { recursive: true });
    opened.record(2);
    expect(opened.journal.stats().dropped.disk_error).toBe(2);
    expect(opened.errors).toHaveLength(1);
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
      const { journal, sealed, clicks, times } = open({ at: small });
      for (let time = 0; time < 400; time++) {
        journal.append(toRequestClick(testClick({ time, userAgent: "x".repeat(400) })));
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
      journal.append(toRequestClick(testClick({ time: 1_000 })));
      journal.close();
      expect(times()).toContain(1_000);
    },
  );

  test.skipIf(!mounted)(
    "a process starts on a read-only disk, and the first on a writable one recovers all",
    () => {
      const before = open();
      before.record(3);
      const { name, bytes } = readFile();
      before.journal.close();
      // Of a killed process: the last click of one is torn, another is to be reused.
      writeFileSync(join(small, name), bytes.subarray(0, -1));
      writeFileSync(join(small, name.replace(/\d{10}/, "0000000099")), "");
      remountDisk(small, "ro");
      const onReadOnly = open({ at: small });
      expect([onReadOnly.sealed.length, onReadOnly.errors.length]).toEqual([0, 2]);
      onReadOnly.journal.close();
      remountDisk(small, "rw");
      using next = open({ at: small });
      expect([next.errors, next.times()]).toEqual([[], [0, 1]]);
    },
  );
});

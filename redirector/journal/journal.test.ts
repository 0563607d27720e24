import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  type Click,
  decodePage,
  PAGE_CLICKS_MAX,
  toRawClick,
} from "../../shared/contracts/click-page.ts";
import { eventually } from "../../test/harness/eventually.ts";
import type { SealedPage } from "./files.ts";
import { openJournal } from "./journal.ts";

const click = (change: Partial<Click> = {}): Click => ({
  time: 1_800_000_000_000,
  linkId: "0190a5a2-0000-7000-8000-000000000001",
  accountId: "0190a5a2-0000-7000-8000-000000000002",
  mode: "live",
  prefetch: false,
  privacy: false,
  address: "203.0.113.9",
  host: "sho.rt",
  userAgent: "agent",
  referrer: "",
  language: "",
  query: "",
  ...change,
});

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "shorthop-journal-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function open(bytesMax = 10_000_000) {
  const sealed: SealedPage[] = [];
  const foreign: string[] = [];
  const errors: unknown[] = [];
  const journal = openJournal({
    dir,
    bytesMax,
    onSealed: (page) => sealed.push(page),
    onError: (error) => errors.push(error),
    onForeign: (name) => foreign.push(name),
  });
  const clicks = () => sealed.flatMap(({ path }) => decodePage(readFileSync(path))?.clicks ?? []);
  return { journal, sealed, foreign, errors, clicks };
}

describe("the click journal", () => {
  test("a click is on disk when it has been recorded", () => {
    const { journal } = open();
    journal.append(toRawClick(click({ userAgent: "first" })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    expect(decodePage(readFileSync(join(dir, name)))?.clicks).toEqual([
      click({ userAgent: "first" }),
    ]);
    journal.close();
  });

  test("pages are sealed by count, numbered without gap, and hold every click once", () => {
    const { journal, sealed, clicks } = open();
    const total = 2 * PAGE_CLICKS_MAX + 10;
    for (let i = 0; i < total; i++) journal.append(toRawClick(click({ time: i })));
    journal.close();
    expect(sealed.map(({ page }) => page)).toEqual([0, 1, 2]);
    expect(sealed.map((page) => page.clicks)).toEqual([PAGE_CLICKS_MAX, PAGE_CLICKS_MAX, 10]);
    expect(clicks().map(({ time }) => time)).toEqual(Array.from({ length: total }, (_, i) => i));
  });

  test("a page is sealed soon, however few clicks it holds", async () => {
    const { journal, sealed } = open();
    journal.append(toRawClick(click()));
    journal.commit();
    await eventually(async () => expect(sealed).toHaveLength(1), 2_000);
    journal.close();
  });

  test("what a killed process left is taken over, torn at whatever byte, under its old id", () => {
    const { journal } = open();
    for (let i = 0; i < 3; i++) journal.append(toRawClick(click({ time: i })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    const whole = readFileSync(join(dir, name));
    // Killed: the page stays open. The directory of the next process holds a copy cut short.
    const first = dir;
    for (let cut = 0; cut <= whole.length; cut++) {
      dir = mkdtempSync(join(tmpdir(), "shorthop-journal-"));
      writeFileSync(join(dir, name), whole.subarray(0, cut));
      const next = open();
      const expected = decodePage(whole.subarray(0, cut))?.clicks ?? [];
      expect(next.clicks()).toEqual(expected);
      for (const page of next.sealed) {
        expect(name).toStartWith(`${page.journalId}-`);
        expect(statSync(page.path).size).toBe(page.bytes);
      }
      next.journal.close();
      rmSync(dir, { recursive: true });
    }
    dir = first;
    journal.close();
  });

  test("sealed pages that were not published come first, in order, before new ones", () => {
    const before = open();
    for (let i = 0; i < PAGE_CLICKS_MAX + 1; i++)
      before.journal.append(toRawClick(click({ time: i })));
    before.journal.close();
    const after = open();
    after.journal.append(toRawClick(click({ time: -1 })));
    after.journal.close();
    expect(after.clicks().map(({ time }) => time)).toEqual([
      ...Array.from({ length: PAGE_CLICKS_MAX + 1 }, (_, i) => i),
      -1,
    ]);
    expect(new Set(after.sealed.map(({ journalId }) => journalId)).size).toBe(2);
  });

  test("the file of a page that was delivered is used again, for another page and nothing of the old", () => {
    const { journal, sealed, errors } = open();
    const fill = (time: number) => {
      for (let i = 0; i < PAGE_CLICKS_MAX; i++) journal.append(toRawClick(click({ time })));
    };
    fill(1);
    const [first] = sealed;
    if (first === undefined) throw new Error("No page was sealed.");
    const { ino } = statSync(first.path);
    truncateSync(first.path);
    journal.released(first);
    journal.append(toRawClick(click({ time: 2 })));
    journal.commit();
    const [name = ""] = readdirSync(dir);
    expect(readdirSync(dir)).toEqual([name]);
    expect(statSync(join(dir, name)).ino).toBe(ino);
    const page = decodePage(readFileSync(join(dir, name)));
    expect([page?.page, page?.whole, page?.clicks]).toEqual([1, true, [click({ time: 2 })]]);
    expect(errors).toEqual([]);
    journal.close();
  });

  test("what was emptied is deleted at the end, and by the next process after a crash", () => {
    const { journal, sealed } = open();
    for (let i = 0; i < 3 * PAGE_CLICKS_MAX; i++) journal.append(toRawClick(click()));
    for (const { path } of sealed) truncateSync(path);
    const next = open();
    expect([next.sealed, next.foreign, readdirSync(dir)]).toEqual([[], [], []]);
    next.journal.close();
    for (const { path } of sealed) writeFileSync(path, "");
    for (const page of sealed) journal.released(page);
    journal.close();
    expect(readdirSync(dir)).toEqual([]);
  });

  test("a file that cannot be used again costs no click", () => {
    const { journal, sealed, clicks, errors } = open();
    for (let i = 0; i < PAGE_CLICKS_MAX; i++) journal.append(toRawClick(click()));
    const [first] = sealed.splice(0);
    if (first === undefined) throw new Error("No page was sealed.");
    rmSync(first.path);
    journal.released(first);
    journal.append(toRawClick(click({ time: 2 })));
    journal.close();
    expect(clicks()).toEqual([click({ time: 2 })]);
    expect(errors).toHaveLength(1);
  });

  test("files that are no pages are left alone and named", () => {
    writeFileSync(join(dir, "notes.txt"), "mine");
    const name = "0190a5a2-0000-7000-8000-000000000001-0000000000.page";
    writeFileSync(join(dir, name), "not a page");
    const { journal, sealed, foreign } = open();
    journal.close();
    expect(sealed).toEqual([]);
    expect(foreign).toEqual([name]);
    expect(readdirSync(dir).toSorted()).toEqual([name, "notes.txt"].toSorted());
  });

  test("a page under another's name is not published under that name", () => {
    const { journal, sealed } = open();
    journal.append(toRawClick(click()));
    journal.close();
    const [page] = sealed;
    copyFileSync(
      page?.path ?? "",
      (page?.path ?? "").replace("-0000000000.page", "-0000000007.page"),
    );
    const { foreign, sealed: adopted, journal: next } = open();
    next.close();
    expect(foreign).toHaveLength(1);
    expect(adopted).toHaveLength(1);
  });

  test("a full journal drops clicks, counts them, and takes new ones when there is room again", () => {
    const { journal, sealed } = open(6_000);
    for (let i = 0; i < 20; i++) {
      journal.append(toRawClick(click({ userAgent: "x".repeat(500) })));
      journal.commit();
    }
    const { recorded, dropped } = journal.stats();
    expect(recorded).toBeGreaterThan(2);
    expect(dropped).toEqual({ journal_full: 20 - recorded, disk_error: 0 });
    expect(dropped.journal_full).toBeGreaterThan(2);
    journal.close();
    for (const page of sealed) journal.released(page);
    expect(journal.stats().pendingBytes).toBe(0);
  });

  test("a directory that is gone costs clicks, counted, and never throws", () => {
    const { journal, errors } = open();
    rmSync(dir, { recursive: true });
    journal.append(toRawClick(click()));
    journal.append(toRawClick(click()));
    journal.commit();
    expect(journal.stats().dropped.disk_error).toBe(2);
    expect(errors).toHaveLength(1);
    journal.close();
  });

  const small = mkdtempSync(join(tmpdir(), "shorthop-small-"));
  const mounted =
    Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small]).exitCode === 0;
  if (!mounted)
    console.warn("\n!!! A small disk cannot be mounted here: full disks are NOT TESTED\n");
  afterAll(() => {
    if (mounted) Bun.spawnSync(["umount", small]);
    rmSync(small, { recursive: true });
  });

  test.skipIf(!mounted)(
    "a full disk costs clicks, counted, and keeps those before them whole",
    () => {
      const own = dir;
      dir = small;
      const { journal, sealed, clicks } = open();
      for (let i = 0; i < 400; i++) {
        journal.append(toRawClick(click({ time: i, userAgent: "x".repeat(400) })));
        journal.commit();
      }
      const { recorded, dropped } = journal.stats();
      expect(dropped.disk_error).toBeGreaterThan(0);
      expect(recorded + dropped.disk_error).toBe(400);
      expect(clicks()).toHaveLength(recorded);
      // There is room again when JetStream has them.
      for (const page of sealed.splice(0)) {
        rmSync(page.path);
        journal.released(page);
      }
      journal.append(toRawClick(click({ time: 1_000 })));
      journal.close();
      expect(clicks().map(({ time }) => time)).toContain(1_000);
      dir = own;
    },
  );
});

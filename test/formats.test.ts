/**
 * Goal: each format that outlives a process has its number in it, and a reader that meets another
 * number says so and leaves what has it as it is. docs/releasing.md lists them.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { exportFormat } from "../api/data-rights/export.ts";
import { nameOf, readBackup, writeManifest } from "../cli/machines/backup/manifest.ts";
import { Directory } from "../cli/machines/backup/storage.ts";
import { recoverSegments, segmentPath } from "../redirector/journal/files.ts";
import { UsesFile } from "../redirector/limits/uses-file.ts";
import {
  currentFolder,
  otherFormats,
  removeOtherFolders,
} from "../redirector/links/store-files.ts";
import { quarantineSegment, restoreQuarantine } from "../shared/clicks/quarantine.ts";
import { decodeLedger, EMPTY_LEDGER, encodeLedger } from "../shared/contracts/click-limits.ts";
import { decodeSegment, encodeSegmentHeader } from "../shared/contracts/click-segment.ts";
import { newUuid } from "../shared/ids.ts";
import { decodeEntry, NO_HASH, otherFormatOf } from "../shared/links-log/entries.ts";
import { STORE_FORMAT } from "../shared/links-store/schema.ts";
import { dirForFile } from "./harness/for-file.ts";
import { encodeEntry } from "./harness/links-log.ts";

const dir = dirForFile("shorthop-formats-");

const folder = (name: string): string => {
  const path = join(dir, name);
  mkdirSync(path);
  return path;
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** What is written today, with another number in place of its own. */
const renumber = (text: string): Buffer => {
  const changed = text.replace(/("format":\s?)1\b/, "$12");
  expect(changed).not.toBe(text);
  return Buffer.from(changed);
};

const segment = { journalId: newUuid(), segment: 1 };
const segmentOf = (version: number): Buffer => {
  const bytes = encodeSegmentHeader(segment);
  bytes.writeUInt8(version, 4);
  return bytes;
};

const entry = textOf(
  encodeEntry({ database: newUuid(), term: 1, position: 1, previous: NO_HASH }, []),
);

/** The first thing that a work throws or returns, as an operator reads it. */
const outcomeOf = async (work: () => unknown): Promise<string> => {
  try {
    return JSON.stringify(await work());
  } catch (error) {
    return String(error);
  }
};

type Format = {
  name: string;
  /** The number that is written today. */
  number: () => unknown;
  /** Has a reader read number 2. */
  read: () => unknown;
  /** What it says; undefined if nothing reads the format. */
  says: string | undefined;
};

const FORMATS: readonly Format[] = [
  {
    name: "Entries of the links log",
    number: () => JSON.parse(entry).format,
    read: () => [decodeEntry(renumber(entry)) === undefined, otherFormatOf(renumber(entry))],
    says: "[true,2]",
  },
  {
    name: "Links store of a host, and its snapshots",
    number: () => Number(STORE_FORMAT.replace("links-", "")),
    read() {
      const links = folder("links");
      mkdirSync(join(links, "links-2"));
      writeFileSync(join(links, "links-2.current"), `links-2-${newUuid()}`);
      const before = readdirSync(links);
      removeOtherFolders(links);
      expect(readdirSync(links)).toEqual(before);
      return [otherFormats(links), currentFolder(links).slice(links.length)];
    },
    says: '[["links-2"],"/links-1"]',
  },
  {
    name: "Ledgers of click limits",
    number: () => JSON.parse(textOf(encodeLedger(EMPTY_LEDGER))).format,
    read: () => decodeLedger(renumber(textOf(encodeLedger(EMPTY_LEDGER)))),
    says: "must be 1, which this version reads",
  },
  {
    name: "Uses of click limits",
    number: () => Number(readFileSync(openUses("now"), "latin1").slice(7, 8)),
    read() {
      const path = openUses("later");
      const later = readFileSync(path);
      later.write("2", 7);
      writeFileSync(path, later);
      let kept = "";
      new UsesFile(path, { unreadable: (where) => (kept = where), unwritable: fail }).close();
      return `kept whole: ${readFileSync(kept).equals(later)}`;
    },
    says: "kept whole: true",
  },
  {
    name: "Segments of clicks",
    number: () => encodeSegmentHeader(segment).readUInt8(4),
    read() {
      const journal = folder("journal");
      const path = segmentPath(journal, segment, "segment");
      writeFileSync(path, segmentOf(2));
      const { unknown, segments } = recoverSegments(journal);
      quarantineSegment(path);
      const [restored] = restoreQuarantine(journal);
      expect(decodeSegment(segmentOf(2))).toBeUndefined();
      return [segments, unknown[0]?.problem, restored?.problem];
    },
    says: '[],"a segment of version 2; this version of Shorthop reads 1","a segment of version 2',
  },
  {
    name: "Backups",
    number: async () => JSON.parse(readFileSync(await writeBackup("now"), "utf8")).format,
    async read() {
      const path = await writeBackup("later");
      writeFileSync(path, renumber(readFileSync(path, "utf8")));
      return await readBackup(new Directory(join(dir, "backups-later")));
    },
    says: "in format 2. This version, ",
  },
  { name: "Exports of accounts", number: () => exportFormat, read: () => "", says: undefined },
];

const fail = (what: unknown): never => {
  throw new Error(String(what));
};

/** Returns the path of a file that a redirector has opened. */
function openUses(name: string): string {
  const path = join(dir, `uses-${name}`);
  new UsesFile(path, { unreadable: fail, unwritable: fail }).close();
  return path;
}

/** Returns the path of a backup's manifest. */
async function writeBackup(place: string): Promise<string> {
  const storage = new Directory(folder(`backups-${place}`));
  const file = { name: "postgres.dump", bytes: 0, sha256: "0".repeat(64) };
  const { name } = await writeManifest(storage, nameOf(new Date()), {
    made_at: new Date().toISOString(),
    postgres: { file, migration: 1, rows: {} },
    clicks: null,
    rollups: [],
    failures: [],
    configuration: null,
  });
  return join(dir, `backups-${place}`, name, "manifest.json");
}

test.each(FORMATS)("$name: the number is 1, and of 2 is said what it is", async (format) => {
  expect(await format.number()).toBe(1);
  if (format.says === undefined) return;
  expect(await outcomeOf(format.read)).toContain(format.says);
});

test("the page about releases has the same formats and numbers", () => {
  const page = readFileSync(join(import.meta.dir, "../docs/releasing.md"), "utf8");
  const [, section = ""] = page.split("\n## Formats\n");
  const rows = Array.from(
    section.matchAll(/^\| (?<name>[A-Z][^|]+?) +\| (?<number>\d+) +\|/gm),
    ({ groups: { name, number } = {} }) => `${name} ${number}`,
  );
  expect(rows).toEqual(expect.arrayContaining(FORMATS.map(({ name }) => `${name} 1`)));
});

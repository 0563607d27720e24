import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";

import { domainNotice } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, type LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  type Change,
  EMPTY_FEED,
  type FeedState,
  PAGE_BYTES,
  toChange,
  toMalformed,
} from "../../shared/links-store/schema.ts";
import { MalformedRecordError } from "../../shared/links-store/stored-record.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import { isDamage, storePath } from "./store-files.ts";
import { openReader } from "./store-reader.ts";
import { CHANGES_KEPT, openWriter } from "./store-writer.ts";

const change = (record: LinkRecord): Change => toChange(record, encodeLinkRecord(record));

const at = (sequence: number): FeedState => ({ ...EMPTY_FEED, stream: "s", sequence });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function stateOf(folder: string, alias: string): LinkRecord["state"] | undefined {
  const reader = openReader(folder);
  try {
    return reader.find("", alias)?.state;
  } finally {
    reader.close();
  }
}

const isKept = (key: string): boolean => key === "/kept";

describe("the links store", () => {
  test("has what was written, with the position behind it, when it is opened again", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const settings = domainNotice(3, "go.example.com", { fold: "all" });
    const link = { ...activeLink("a", 1), host_changed_at: 5 };
    const written = [link, { ...activeLink("b", 2), state: "deleted" as const }, settings];
    expect(writer.write(written.map(change), at(7))).toBe(3);
    writer.close();
    const reader = openReader(dir);
    expect(reader.feed()).toEqual({ ...at(7), counted: { links: 1, sequence: 7, epoch: 0 } });
    expect(reader.find("", "a")).toEqual(link);
    expect(reader.find("", "b")).toMatchObject({ state: "deleted", version: 2 });
    expect(reader.find("go.example.com", "@domain")).toEqual(settings);
    expect(reader.find("", "c")).toBeUndefined();
    reader.close();
  });

  test("keeps the newest version, in whatever order they come, and counts only those", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const versions = [
      activeLink("a", 2),
      activeLink("a", 1),
      activeLink("a", 2),
      activeLink("a", 3),
    ];
    expect(writer.write(versions.map(change), at(1))).toBe(2);
    const reader = openReader(dir);
    expect(reader.find("", "a")).toMatchObject({ version: 3 });
    expect(reader.changesSince(0, 10)).toEqual({ keys: ["/a", "/a"], number: 2 });
    reader.close();
    writer.close();
  });

  test("writes the changes of a transaction and its position, or neither", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    writer.write([change(activeLink("a", 1))], at(1));
    const broken = change(activeLink("b", Number.NaN));
    expect(() => writer.write([change(activeLink("a", 2)), broken], at(2))).toThrow();
    expect(writer.feed()).toEqual({ ...at(1), counted: { links: 1, sequence: 1, epoch: 0 } });
    expect(writer.links()).toBe(1);
    const reader = openReader(dir);
    expect(reader.find("", "a")).toMatchObject({ version: 1 });
    reader.close();
    writer.close();
  });

  longTest("tells readers what changed, part by part, and that they are too far behind", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const reader = openReader(dir);
    const before = reader.dataVersion();
    const links = Array.from({ length: CHANGES_KEPT + 1 }, (_, i) => activeLink(`link-${i}`, 1));
    writer.write(links.slice(0, 3).map(change), at(1));
    expect(reader.dataVersion()).not.toBe(before);
    expect(reader.changesSince(1, 1)).toEqual({ keys: ["/link-1"], number: 2 });
    expect(reader.changesSince(3, 1)).toEqual({ keys: [], number: 3 });
    writer.write(links.slice(3).map(change), at(2));
    expect(reader.changesSince(0, 1)).toBeUndefined();
    expect(reader.changesSince(1, 1)).toEqual({ keys: ["/link-1"], number: 2 });
    expect(reader.lastChange()).toBe(CHANGES_KEPT + 1);
    reader.close();
    writer.close();
  });

  test("removes what is older than an epoch, in parts, and tells readers", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const links = Array.from({ length: 10 }, (_, i) => activeLink(`link-${i}`, i));
    writer.write([...links, { ...activeLink("kept", 0) }].map(change), at(1));
    let removed = 0;
    let parts = 0;
    for (let after: number | undefined = 0; after !== undefined; parts++) {
      const part = writer.sweep(5, after, 4, isKept);
      removed += part.removed;
      after = part.next;
    }
    expect([removed, parts]).toEqual([5, 3]);
    const reader = openReader(dir);
    const found = links.map(({ alias }) => reader.find("", alias)?.version);
    expect(found).toEqual([undefined, undefined, undefined, undefined, undefined, 5, 6, 7, 8, 9]);
    expect(reader.find("", "kept")).toBeDefined();
    expect(reader.changesSince(11, 10)?.keys).toEqual(
      links.slice(0, 5).map(({ alias }) => `/${alias}`),
    );
    reader.close();
    writer.close();
  });

  test("counts its links, whatever is written, removed or left by a version that does not count", () => {
    const anyRecord = fc.record({
      alias: fc.constantFrom("a", "b", "c", "@domain"),
      version: fc.nat({ max: 20 }),
      deleted: fc.boolean(),
    });
    const step = fc.oneof(
      fc.record({ write: fc.array(anyRecord, { maxLength: 6 }) }),
      fc.record({ sweep: fc.nat({ max: 20 }) }),
      fc.constant({ reopen: true }),
    );
    let sequence = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const folder = mkdtempSync(join(dir, "counted-"));
        let writer = openWriter(folder, { reserveBytes: 0 });
        for (const one of steps) {
          if ("write" in one) {
            const records = one.write.map(({ alias, version, deleted }): LinkRecord =>
              alias === "@domain"
                ? domainNotice(version, "", {})
                : deleted
                  ? { state: "deleted", version, domain: "", alias }
                  : activeLink(alias, version),
            );
            writer.write(records.map(change), at(++sequence));
          } else if ("sweep" in one) {
            writer.sweep(one.sweep, 0, 100);
          } else {
            writer.close();
            const db = new Database(storePath(folder));
            // As an earlier version leaves it: with another position, and the count of before.
            db.run("UPDATE feed SET state = json_set(state, '$.sequence', -1)");
            db.run("DELETE FROM links WHERE key = '/a'");
            db.close();
            writer = openWriter(folder, { reserveBytes: 0 });
          }
          const links = ["a", "b", "c"].filter((alias) => stateOf(folder, alias) === "active");
          expect(writer.links()).toBe(links.length);
        }
        writer.close();
      }),
      { numRuns: casesOf(100) },
    );
  });

  test("never returns a row that is not what was written", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    writer.write([change(activeLink("a", 1))], at(1));
    writer.close();
    const db = new Database(storePath(dir));
    const { record } = db.query<{ record: Uint8Array }, []>("SELECT record FROM links").get() ?? {
      record: new Uint8Array(),
    };
    for (let i = 0; i < record.length; i++) {
      const damaged = record.slice();
      damaged[i] = (damaged[i] ?? 0) ^ 1;
      db.run("UPDATE links SET record = ?", [damaged]);
      const reader = openReader(dir);
      expect(caught(() => reader.find("", "a"))).toSatisfy(isDamage);
      reader.close();
    }
    db.close();
  });

  test("never returns the row of another link, as a damaged index would", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    writer.write([change(activeLink("a", 1)), change(activeLink("b", 1))], at(1));
    writer.close();
    const db = new Database(storePath(dir));
    db.run("UPDATE links SET record = (SELECT record FROM links WHERE key = '/b')");
    db.close();
    const reader = openReader(dir);
    expect(caught(() => reader.find("", "a"))).toSatisfy(isDamage);
    expect(reader.find("", "b")).toMatchObject({ alias: "b" });
    reader.close();
  });

  test("knows of a link whose record is malformed only that it may exist, until there is a good one", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const [a, b] = [activeLink("a", 1), activeLink("b", 1)];
    writer.write([change(a), toMalformed(a), toMalformed(b)], at(1));
    const reader = openReader(dir);
    expect(reader.find("", "a")).toEqual(a);
    expect(() => reader.find("", "b")).toThrow(MalformedRecordError);
    writer.write([change(b)], at(2));
    expect(reader.find("", "b")).toEqual(b);
    reader.close();
    writer.close();
  });

  test("cannot be opened when the file is something else, and says so", async () => {
    await Bun.write(storePath(dir), "not a database, but long enough to be looked at ".repeat(100));
    expect(caught(() => openWriter(dir))).toSatisfy(isDamage);
  });

  test("can be read by nobody else, in whatever folder it is", () => {
    chmodSync(dir, 0o755);
    const writer = openWriter(dir, { reserveBytes: 0 });
    writer.write([change(activeLink("a", 1))], at(1));
    for (const name of readdirSync(dir).filter((file) => !file.endsWith(".reserve")))
      expect([name, statSync(join(dir, name)).mode & 0o777]).toEqual([name, 0o600]);
    writer.close();
  });

  test("has pages of the size by which its log is limited", () => {
    openWriter(dir, { reserveBytes: 0 }).close();
    const db = new Database(storePath(dir));
    expect(db.query("PRAGMA page_size").get()).toEqual({ page_size: PAGE_BYTES });
    db.close();
  });

  test("takes less than 250 bytes a link", () => {
    const writer = openWriter(dir, { reserveBytes: 0 });
    const links = Array.from({ length: 20_000 }, (_, i) => ({
      ...activeLink(Bun.hash(String(i)).toString(36).slice(0, 8), i),
      destination: `https://www.example.com/articles/${i}?source=newsletter`,
    }));
    for (let i = 0; i < links.length; i += 1_000)
      writer.write(links.slice(i, i + 1_000).map(change), at(i));
    writer.close();
    expect(statSync(storePath(dir)).size / links.length).toBeLessThan(250);
  });
});

function caught(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import fc from "fast-check";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { domainNotice } from "../../shared/contracts/notices.ts";
import {
  EMPTY_LOG,
  type LogState,
  MalformedRecordError,
  PAGE_BYTES,
  toChange,
  toMalformed,
} from "../../shared/links-store/schema.ts";
import { dirForEach } from "../../test/harness/for-file.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { casesOf, longTest } from "../../test/harness/property-runs.ts";
import { isDamage, storePath } from "./store-files.ts";
import { CHANGES_KEPT, LogStore, StoreReader } from "./store.ts";

const at = (sequence: number): LogState => ({ ...EMPTY_LOG, sequence });

const dir = dirForEach("shorthop-links-");

function stateOf(folder: string, alias: string): LinkRecord["state"] | undefined {
  using reader = new StoreReader(folder);
  return reader.find("", alias)?.state;
}

describe("the links store", () => {
  test("has what was written, with the state of the log behind it, when it is opened again", () => {
    const settings = domainNotice("go.example.com", { fold: "all" });
    const link = { ...activeLink("a", 1), host_changed_at: 5 };
    const written = [link, { ...activeLink("b", 2), state: "deleted" as const }, settings];
    {
      using store = new LogStore(dir(), 0);
      store.write(
        written.map((record) => toChange(record)),
        at(7),
      );
      store.setObstacle("nothing comes");
    }
    using reader = new StoreReader(dir());
    expect(reader.state()).toEqual({ ...at(7), links: 1, obstacle: "nothing comes" });
    expect(reader.find("", "a")).toEqual(link);
    expect(reader.find("", "b")).toMatchObject({ state: "deleted", version: 2 });
    expect(reader.find("go.example.com", "@domain")).toEqual(settings);
    expect(reader.find("", "c")).toBeUndefined();
    using store = new LogStore(dir(), 0);
    store.write([], at(8));
    expect(reader.state()).toEqual({ ...at(8), links: 1, obstacle: "nothing comes" });
  });

  test("has the last state of a link, whatever its version, and tells readers once", () => {
    using store = new LogStore(dir(), 0);
    store.write(
      [2, 3, 1].map((version) => toChange(activeLink("a", version))),
      at(1),
    );
    using reader = new StoreReader(dir());
    expect(reader.find("", "a")).toMatchObject({ version: 1 });
    expect(reader.changesAfter(0)).toEqual({ keys: ["/a"], number: 1 });
  });

  test("writes the changes of a transaction and the state of the log, or neither", () => {
    using store = new LogStore(dir(), 0);
    store.write([toChange(activeLink("a", 1))], at(1));
    const { row, isMalformed } = toChange(activeLink("b", 1));
    const broken = { key: null as unknown as string, row, isMalformed };
    expect(() => store.write([toChange(activeLink("a", 2)), broken], at(2))).toThrow();
    expect(store.state).toEqual({ ...at(1), links: 1 });
    using reader = new StoreReader(dir());
    expect(reader.state()).toEqual({ ...at(1), links: 1 });
    expect(reader.find("", "a")).toMatchObject({ version: 1 });
  });

  longTest("tells readers what changed, part by part, and that they are too far behind", () => {
    using store = new LogStore(dir(), 0);
    using reader = new StoreReader(dir());
    const before = reader.dataVersion();
    const links = Array.from({ length: CHANGES_KEPT + 1 }, (_, i) =>
      activeLink(`link-${String(i).padStart(6, "0")}`, 1),
    );
    store.write(
      links.slice(0, 1).map((record) => toChange(record)),
      at(1),
    );
    expect(reader.dataVersion()).not.toBe(before);
    expect(reader.changesAfter(0)).toEqual({ keys: ["/link-000000"], number: 1 });
    expect(reader.changesAfter(1)).toEqual({ keys: [], number: 1 });
    store.write(
      links.slice(1).map((record) => toChange(record)),
      at(2),
    );
    expect(reader.changesAfter(0)).toBeUndefined();
    const keys: string[] = [];
    for (let next = reader.changesAfter(1); ; next = reader.changesAfter(next.number)) {
      if (next === undefined) throw new Error("Changes are no longer listed.");
      if (next.keys.length === 0) break;
      keys.push(...next.keys);
      expect(next.number).toBe(1 + keys.length);
    }
    expect(keys).toEqual(links.slice(1).map(({ alias }) => `/${alias}`));
    expect(reader.lastChange()).toBe(CHANGES_KEPT + 1);
  });

  test("counts its links, whatever is written", () => {
    const anyRecord = fc.record({
      alias: fc.constantFrom("a", "b", "c", "@domain"),
      kind: fc.constantFrom("active", "deleted", "malformed"),
    });
    const step = fc.oneof(
      fc.record({ write: fc.array(anyRecord, { maxLength: 6 }) }),
      fc.constant({ reopen: true }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const folder = mkdtempSync(join(dir(), "counted-"));
        let store = new LogStore(folder, 0);
        for (const one of steps) {
          if ("write" in one) {
            const changes = one.write.map(({ alias, kind }) => {
              if (alias === "@domain") return toChange(domainNotice("", {}));
              if (kind === "malformed") return toMalformed({ domain: "", alias });
              return toChange(
                kind === "active"
                  ? activeLink(alias, 1)
                  : { state: "deleted", version: 1, domain: "", alias },
              );
            });
            store.write(changes, EMPTY_LOG);
          } else {
            store[Symbol.dispose]();
            store = new LogStore(folder, 0);
          }
          const links = ["a", "b", "c"].filter((alias) => isActive(folder, alias));
          expect(store.state.links).toBe(links.length);
        }
        store[Symbol.dispose]();
      }),
      { numRuns: casesOf(100) },
    );
  });

  test("never returns the row of another link, as a damaged index would", () => {
    {
      using store = new LogStore(dir(), 0);
      store.write([toChange(activeLink("a", 1)), toChange(activeLink("b", 1))], at(1));
    }
    {
      using db = new Database(storePath(dir()));
      db.run("UPDATE links SET record = (SELECT record FROM links WHERE key = '/b')");
    }
    using reader = new StoreReader(dir());
    expect(caught(() => reader.find("", "a"))).toSatisfy(isDamage);
    expect(reader.find("", "b")).toMatchObject({ alias: "b" });
  });

  test("knows of a link whose state is malformed only that it may exist, until there is a good one", () => {
    using store = new LogStore(dir(), 0);
    const [a, b, c] = [activeLink("a", 1), activeLink("b", 1), activeLink("c", 1)];
    store.write([toChange(a)], at(1));
    store.write([toMalformed(a), toMalformed(b), toChange(c), toMalformed(c)], at(2));
    using reader = new StoreReader(dir());
    expect(reader.find("", "a")).toEqual(a);
    expect(reader.find("", "c")).toEqual(c);
    expect(() => reader.find("", "b")).toThrow(MalformedRecordError);
    store.write([toChange(b)], at(3));
    expect(reader.find("", "b")).toEqual(b);
  });

  test("can be read by nobody else, in whatever folder it is", () => {
    chmodSync(dir(), 0o755);
    using store = new LogStore(dir(), 0);
    store.write([toChange(activeLink("a", 1))], at(1));
    for (const name of readdirSync(dir()).filter((file) => !file.endsWith(".reserve")))
      expect([name, statSync(join(dir(), name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  test("has pages of the size by which its log is limited", () => {
    new LogStore(dir(), 0)[Symbol.dispose]();
    using db = new Database(storePath(dir()));
    expect(db.query("PRAGMA page_size").get()).toEqual({ page_size: PAGE_BYTES });
  });

  test("takes less than 250 bytes a link", () => {
    const links = Array.from({ length: 20_000 }, (_, i) => ({
      ...activeLink(Bun.hash(String(i)).toString(36).slice(0, 8), i),
      destination: `https://www.example.com/articles/${i}?source=newsletter`,
    }));
    {
      using store = new LogStore(dir(), 0);
      for (let i = 0; i < links.length; i += 1_000)
        store.write(
          links.slice(i, i + 1_000).map((record) => toChange(record)),
          at(i),
        );
    }
    expect(statSync(storePath(dir())).size / links.length).toBeLessThan(250);
  });
});

/** Whether a store has a link, and not only a malformed state of it. */
function isActive(folder: string, alias: string): boolean {
  try {
    return stateOf(folder, alias) === "active";
  } catch (error) {
    if (error instanceof MalformedRecordError) return false;
    throw error;
  }
}

function caught(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

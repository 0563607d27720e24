import { describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { sliceToString } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { TakedownFields } from "../../shared/takedowns.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { LinkCache } from "./link-cache.ts";
import { Takedowns } from "./takedowns.ts";

const MIB = 1024 ** 2;

const active = (alias: string, version: number, destination = "https://example.com/") => ({
  ...activeLink(alias, version),
  destination: destination + version,
});

/** Takedowns that cover what a function says. */
function takedownsOf(covers: (link: TakedownFields) => boolean): Takedowns {
  const takedowns = new Takedowns();
  spyOn(takedowns, "covers").mockImplementation(covers);
  return takedowns;
}

const deleted = (alias: string, version: number): LinkRecord => ({
  state: "deleted",
  version,
  domain: "",
  alias,
});

function getState(cache: LinkCache, alias: string, domain = "") {
  const bytes = Buffer.from(`GET /${alias} HTTP/1.1`);
  return cache.get(domain, bytes, { start: 4, end: 5 + alias.length });
}

/** As `getState`, of a cache without takedowns. */
function find(cache: LinkCache, alias: string, domain = "") {
  const link = getState(cache, alias, domain);
  if (link === "taken_down") throw new Error("There is no takedown.");
  return link;
}

/** A link's destination; null for one known to be deleted, undefined for one that is not cached. */
function destinationOf(cache: LinkCache, alias: string, domain = "") {
  const link = find(cache, alias, domain);
  return link ? sliceToString(link.destination) : link;
}

describe("the link cache", () => {
  test("the state that was stored last is the link's, whatever its version", () => {
    const anyStates = fc.array(
      fc.record({ version: fc.nat({ max: 20 }), isDeleted: fc.boolean() }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(anyStates, (states) => {
        const cache = new LinkCache(MIB);
        const records = states.map(({ version, isDeleted }) =>
          isDeleted ? deleted("a", version) : active("a", version),
        );
        for (const record of records) cache.put(record);
        const last = records.at(-1);
        expect(destinationOf(cache, "a")).toBe(last?.state === "active" ? last.destination : null);
        expect(cache.stats().entries).toBe(1);
      }),
    );
  });

  test("domains do not share aliases", () => {
    const cache = new LinkCache(MIB);
    cache.put(active("a", 1));
    cache.put({ ...active("a", 2), domain: "go.example.com" });
    expect(destinationOf(cache, "a")).toBe("https://example.com/1");
    expect(destinationOf(cache, "a", "go.example.com")).toBe("https://example.com/2");
    expect(destinationOf(cache, "a", "other.example")).toBeUndefined();
    // A host is never mistaken for a part of a path.
    expect(destinationOf(cache, "go.example.com/a")).toBeUndefined();
    expect(destinationOf(cache, "a/a")).toBeUndefined();
  });

  test("however full it is, it returns what was stored last or nothing, and stays within its bytes", () => {
    const anyOperation = fc.record({
      alias: fc.nat({ max: 600 }),
      length: fc.nat({ max: 6_000 }),
      kind: fc.constantFrom("put", "put", "put", "delete", "find"),
      version: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(anyOperation, { minLength: 1_500, maxLength: 2_000 }), (operations) => {
        const cache = new LinkCache(MIB);
        const last = new Map<string, LinkRecord>();
        for (const { alias, length, kind, version } of operations) {
          const name = `alias-${alias}`;
          if (kind === "find") {
            find(cache, name);
            continue;
          }
          const record =
            kind === "delete" ? deleted(name, version) : active(name, version, "x".repeat(length));
          last.set(name, record);
          cache.put(record);
        }
        let cached = 0;
        for (let alias = 0; alias <= 600; alias++) {
          const name = `alias-${alias}`;
          const record = last.get(name);
          const destination = record?.state === "active" ? record.destination : null;
          const isCached = cache.has("", name);
          if (isCached) cached++;
          if (isCached) expect(record).toBeDefined();
          expect(destinationOf(cache, name)).toBe(isCached ? destination : undefined);
        }
        expect(cached).toBe(cache.stats().entries);
        expect(cache.stats().bytes).toBeLessThanOrEqual(MIB);
      }),
      { numRuns: casesOf(100) },
    );
  });

  test("when full, it keeps requested links and evicts others", () => {
    const cache = new LinkCache(MIB);
    cache.put(active("requested", 1));
    cache.put(active("unrequested", 1));
    for (let i = 0; i < 50_000; i++) {
      expect(find(cache, "requested")).toBeDefined();
      cache.put(active(`a${i}`, 1));
    }
    expect(find(cache, "unrequested")).toBeUndefined();
  });

  test("however often some links change, the others stay cached, and memory does not grow", () => {
    const cache = new LinkCache(MIB);
    for (let i = 0; i < 2_000; i++) cache.put(active(`a${i}`, 1));
    const { bytes } = cache.stats();
    for (let version = 2; version < 50_000; version++)
      cache.put(active(`a${version % 7}`, version));
    expect(cache.stats().entries).toBe(2_000);
    expect(cache.stats().bytes).toBeLessThan(2.5 * bytes);
    for (let i = 7; i < 2_000; i++) expect(find(cache, `a${i}`)?.version).toBe(1);
  });

  test("once cleared it has nothing, and as much room as before", () => {
    const cache = new LinkCache(MIB);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 3_000; i++) cache.put(active(`a${i}`, 1));
      for (let i = 0; i < 3_000; i++) expect(find(cache, `a${i}`)?.version).toBe(1);
      cache.clear();
      for (let i = 0; i < 3_000; i++) expect(cache.has("", `a${i}`)).toBe(false);
      expect(cache.stats().entries).toBe(0);
    }
    expect(cache.stats().bytes).toBeLessThanOrEqual(MIB);
  });

  test("a link is taken down by what covers it when it is stored", () => {
    const cache = new LinkCache(
      MIB,
      takedownsOf(({ destination }) => destination.includes("evil")),
    );
    const evil = { ...active("evil", 1), destination: "https://evil.example/" };
    cache.put(evil);
    cache.put(active("good", 1));
    expect(getState(cache, "evil")).toBe("taken_down");
    expect(getState(cache, "good")).toMatchObject({ version: 1 });
    cache.put({ ...evil, version: 2, destination: "https://example.com/" });
    expect(getState(cache, "evil")).toMatchObject({ version: 2 });
    cache.put(deleted("evil", 3));
    expect(getState(cache, "evil")).toBeNull();
  });

  test("marking again reaches every link, while links are stored, moved and evicted", async () => {
    let evil = new Set<string>();
    const cache = new LinkCache(
      MIB,
      takedownsOf(({ destination }) => evil.has(destination)),
    );
    const putAll = (version: number) => {
      for (let i = 0; i < 3_000; i++)
        cache.put({ ...active(`a${i}`, version), destination: `https://example.com/${i % 10}` });
    };
    putAll(1);
    for (const [round, digits] of [[3, 5], [5], [], [1, 2, 3]].entries()) {
      evil = new Set(digits.map((digit) => `https://example.com/${digit}`));
      const marked = cache.markAgain();
      putAll(round + 2);
      await marked;
      for (let i = 0; i < 3_000; i++) {
        const state = getState(cache, `a${i}`);
        if (state !== undefined)
          expect([i, state === "taken_down"]).toEqual([i, digits.includes(i % 10)]);
      }
    }
  });

  test("an oversized record is not cached, and does no harm", () => {
    const cache = new LinkCache(MIB);
    cache.put(active("a", 1));
    cache.put(active("long", 1, "x".repeat(70_000)));
    cache.put(active("x".repeat(600), 1));
    expect(cache.stats().entries).toBe(1);
    expect(find(cache, "x".repeat(600))).toBeUndefined();
  });
});

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { createLinkCache } from "./link-cache.ts";

const active = (alias: string, version: number): LinkRecord => ({
  state: "active",
  version,
  domain: "",
  alias,
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "live",
  destination: `https://example.com/${version}`,
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

const deleted = (alias: string, version: number): LinkRecord => ({
  state: "deleted",
  version,
  domain: "",
  alias,
});

describe("the link cache", () => {
  test("whatever the order of arrival, the newest state wins", () => {
    const anyStates = fc.array(
      fc.record({ version: fc.nat({ max: 20 }), gone: fc.boolean(), update: fc.boolean() }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(anyStates, (states) => {
        const cache = createLinkCache(1_000_000);
        const seen = new Map<number, LinkRecord>();
        for (const { version, gone, update } of states) {
          const record = seen.get(version) ?? (gone ? deleted("a", version) : active("a", version));
          seen.set(version, record);
          if (update) cache.update(record);
          else cache.put(record);
        }
        const newest = seen.get(Math.max(...seen.keys()));
        expect(cache.get("", "/a")?.destination).toBe(
          newest?.state === "active" ? newest.destination : undefined,
        );
        expect(cache.get("", "/a")?.version).toBe(
          newest?.state === "active" ? newest.version : undefined,
        );
        if (newest?.state === "deleted") expect(cache.get("", "/a")).toBeNull();
      }),
    );
  });

  test("domains do not share aliases", () => {
    const cache = createLinkCache(1_000_000);
    cache.put(active("a", 1));
    expect(cache.get("other.example", "/a")).toBeUndefined();
  });

  test("keeps within its bytes, and a full cache takes updates of what it holds alone", () => {
    const cache = createLinkCache(10_000);
    for (let i = 0; i < 100; i++) cache.put(active(`a${i}`, 1));
    const { bytes, entries } = cache.stats();
    expect(bytes).toBeLessThanOrEqual(10_000);
    expect(entries).toBeGreaterThan(5);
    cache.update(active("stranger", 1));
    expect(cache.get("", "/stranger")).toBeUndefined();
    // Whoever was found stays longer than whoever was not.
    const kept = createLinkCache(10_000);
    kept.put(active("found", 1));
    for (let i = 0; i < 100; i++) {
      expect(kept.get("", "/found")).toBeDefined();
      kept.put(active(`b${i}`, 1));
    }
    cache.update(active("a99", 2));
    expect(cache.get("", "/a99")?.version).toBe(2);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { newUuid } from "../shared/ids.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { loadSnapshot, saveSnapshot } from "./snapshot.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
  path = join(dir, "links.snapshot");
});
afterEach(() => rmSync(dir, { recursive: true }));

const CURSOR = { stream: "2026-11-21T00:00:00Z", sequence: 42 };

const records: LinkRecord[] = Array.from({ length: 1_200 }, (_, i) =>
  i % 5 === 0
    ? { state: "deleted", version: i, domain: "", alias: `a${i}` }
    : {
        state: "active",
        version: i,
        domain: i % 3 === 0 ? "go.example.com" : "",
        alias: `a${i}`,
        link_id: newUuid(),
        account_id: newUuid(),
        mode: i % 2 === 0 ? "live" : "test",
        destination: `https://example.com/${i}?ü`,
        expires_at: i % 7 === 0 ? i : null,
        password_hash: i % 11 === 0 ? "$argon2id$x" : null,
        forward_query: i % 13 === 0,
      },
);

function createFilledCache() {
  const cache = createLinkCache(10_000_000);
  for (const record of records) cache.put(record);
  return cache;
}

describe("a snapshot", () => {
  test("restores every record and the cursor, and only its owner may read it", async () => {
    await saveSnapshot(path, CURSOR, createFilledCache().records());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const cache = createLinkCache(10_000_000);
    expect(await loadSnapshot(path, cache)).toEqual(CURSOR);
    expect([...cache.records()]).toEqual(records);
    expect(readdirSync(dir)).toEqual(["links.snapshot"]);
  });

  test("is ignored when it is truncated, foreign or missing", async () => {
    await saveSnapshot(path, CURSOR, createFilledCache().records());
    const whole = readFileSync(path);
    const texts = [
      whole.subarray(0, -1),
      whole.subarray(0, 10_000),
      "",
      "{}",
      "{}\nend",
      "nonsense\nend",
    ];
    for (const text of texts) {
      writeFileSync(path, text);
      const cache = createLinkCache(10_000_000);
      expect(await loadSnapshot(path, cache)).toBeUndefined();
      expect(cache.stats().entries).toBe(0);
    }
    rmSync(path);
    expect(await loadSnapshot(path, createLinkCache(1_000))).toBeUndefined();
  });
});

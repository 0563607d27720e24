import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { domainNotice, takedownNotice } from "../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { newUuid } from "../shared/ids.ts";
import { createLog } from "../shared/log.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createDomainAnswers } from "./domain-settings.ts";
import { loadSnapshot, saveSnapshot, startSnapshots } from "./snapshot.ts";
import { createTakedowns } from "./takedowns.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
  path = join(dir, "links.snapshot");
});
afterEach(() => rmSync(dir, { recursive: true }));

const STATE = { epoch: 77, cursor: { stream: "2026-11-21T00:00:00Z", sequence: 42 } };

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
        password_hash: i % 11 === 0 ? "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA" : null,
        forward_query: i % 13 === 0,
        ...(i % 17 === 0 ? { extras: { starts_at: i } } : {}),
        ...(i % 19 === 0 ? { utm: "utm_source=a" } : {}),
      },
);

function createFilledCache() {
  const cache = createLinkCache(10_000_000);
  for (const record of records) cache.put(record);
  return cache;
}

describe("a snapshot", () => {
  test("restores every record and the cursor, and only its owner may read it", async () => {
    await saveSnapshot(path, STATE, createFilledCache().records());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const cache = createLinkCache(10_000_000);
    expect(await loadSnapshot(path, cache)).toEqual(STATE);
    expect([...cache.records()]).toEqual(records);
    expect(readdirSync(dir)).toEqual(["links.snapshot"]);
  });

  test("restores takedowns before links, so that without NATS none is followed that is taken down", async () => {
    const link = records.find(({ state }) => state === "active");
    if (link?.state !== "active") throw new Error("There is no link.");
    const notices = [
      takedownNotice(7, { accounts: [link.account_id], hosts: [] }),
      domainNotice(8, "go.example.com", { root_url: "https://example.com/" }),
    ];
    await saveSnapshot(path, STATE, [...notices, ...createFilledCache().records()]);
    const takedowns = createTakedowns();
    const domains = createDomainAnswers();
    const cache = createLinkCache(10_000_000, takedowns.covers);
    await loadSnapshot(path, cache, (notice) => {
      takedowns.apply(notice);
      domains.apply(notice.domain, notice);
    });
    expect([...cache.records()]).toEqual(records);
    expect([...takedowns.notices(), ...domains.notices()]).toEqual(notices);
    const bytes = Buffer.from(`/${link.alias}`);
    expect(cache.get(link.domain, bytes, { start: 0, end: bytes.length })).toBe("taken_down");
  });

  test("is ignored when it is truncated, foreign or missing", async () => {
    await saveSnapshot(path, STATE, createFilledCache().records());
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

  test("of a version that understands other extras: what it took for deleted is left out", async () => {
    await saveSnapshot(path, STATE, createFilledCache().records());
    const [header = "", ...lines] = readFileSync(path, "utf8").split("\n");
    const { extras, ...old } = JSON.parse(header);
    expect(extras).toContain("starts_at");
    for (const written of [old, { ...old, extras: [...extras, "of_a_later_version"] }]) {
      writeFileSync(path, [JSON.stringify(written), ...lines].join("\n"));
      const cache = createLinkCache(10_000_000);
      expect(await loadSnapshot(path, cache)).toEqual(STATE);
      expect([...cache.records()]).toEqual(records.filter(({ state }) => state === "active"));
    }
  });

  test("of a version without UTM parameters: links that may have some are left out, to be fetched", async () => {
    const [plain, tagged] = records
      .filter((record) => record.state === "active")
      .map((record, i) =>
        i === 1 ? { ...record, destination: "https://a.b/?utm_source=a" } : record,
      );
    if (plain === undefined || tagged === undefined) throw new Error("There are too few links.");
    await saveSnapshot(path, STATE, [plain, tagged]);
    const [header = "", ...lines] = readFileSync(path, "utf8").split("\n");
    const { utm, ...old } = JSON.parse(header);
    expect(utm).toBe(true);
    for (const [written, loaded] of [
      [{ ...old, utm }, [plain, tagged]],
      [old, [plain]],
    ]) {
      writeFileSync(path, [JSON.stringify(written), ...lines].join("\n"));
      const cache = createLinkCache(10_000_000);
      expect(await loadSnapshot(path, cache)).toEqual(STATE);
      expect([...cache.records()]).toEqual(loaded);
    }
  });

  test("of a version without epochs is loaded, and its links are to be read again", async () => {
    await saveSnapshot(path, STATE, createFilledCache().records());
    const [header = "", ...lines] = readFileSync(path, "utf8").split("\n");
    const { epoch, ...old } = JSON.parse(header);
    expect(epoch).toBe(77);
    writeFileSync(path, [JSON.stringify(old), ...lines].join("\n"));
    const state = await loadSnapshot(path, createLinkCache(10_000_000));
    expect(state).toEqual({ ...STATE, epoch: undefined });
  });

  test("is not overwritten while cached links have to be read again", async () => {
    const cache = createFilledCache();
    let epoch: number | undefined = 77;
    const feed = { cursor: () => STATE.cursor, epoch: () => epoch, changes: () => 0 };
    const log = createLog("test", "silent");
    const snapshots = startSnapshots({ path, cache, notices: () => [], feed, log });
    await snapshots.stop();
    const before = readFileSync(path, "utf8");
    epoch = undefined;
    for (const record of records) cache.remove(record);
    await snapshots.stop();
    expect(readFileSync(path, "utf8")).toBe(before);
    epoch = 78;
    await snapshots.stop();
    expect(readFileSync(path, "utf8")).not.toBe(before);
  });
});

/**
 * Goal: requests get what the store has, changes reach memory, and a link is only said not to exist
 * when the store has every link and the feed has no newer one.
 */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { domainNotice, takedownNotice } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import { ensureLinksStream, LINKS_STREAM, linkSubject } from "../../shared/contracts/streams.ts";
import { EMPTY_FEED, type FeedState, toChange } from "../../shared/links-store/schema.ts";
import { createLog } from "../../shared/log.ts";
import { type Nats, openNats } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { createDomainSettingsCache } from "../cache/domain-settings.ts";
import { createLinkCache } from "../cache/link-cache.ts";
import { createTakedowns } from "../cache/takedowns.ts";
import { startHostLinks } from "./host-links.ts";
import { storePath } from "./store-files.ts";
import { CHANGES_KEPT, openWriter, type StoreWriter } from "./store-writer.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 30_000;

const log = createLog("test", "silent");

const AWAY: Pick<Nats, "connection" | "connected"> = {
  connection: new Promise(() => undefined),
  connected: () => false,
};

const complete: FeedState = { ...EMPTY_FEED, stream: "s", sequence: 1, complete: true };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A process of the host, whose links are read from the store in `dir`. */
function startProcess(nats: Pick<Nats, "connection" | "connected"> = AWAY, turnMs?: number) {
  const takedowns = createTakedowns();
  const cache = createLinkCache(16 * 1024 ** 2, takedowns.covers);
  takedowns.onChange(() => void cache.markAgain());
  const domains = createDomainSettingsCache();
  const damages: unknown[] = [];
  const links = startHostLinks({
    dir,
    nats,
    streams: [UNDIVIDED],
    cache,
    takedowns,
    domains,
    prefetch: () => Promise.resolve(),
    onFeed: () => undefined,
    onDamaged: (error) => damages.push(error),
    log,
    ...(turnMs === undefined ? {} : { turnMs }),
  });
  return {
    links,
    cache,
    domains,
    takedowns,
    damages,
    /** What memory has of a link: its destination, or its state. */
    cached(alias: string): string | null | undefined {
      const path = Buffer.from(`/${alias}`);
      const link = cache.get("", path, { start: 0, end: path.length });
      if (link === null || link === undefined || link === "taken_down") return link;
      const { bytes, start, end } = link.destination;
      return bytes.toString("utf8", start, end);
    },
    [Symbol.dispose]: () => links.stop(),
  };
}

const write = (store: StoreWriter, records: readonly LinkRecord[], feed = complete): number =>
  store.write(
    records.map((record) => toChange(record, encodeLinkRecord(record))),
    feed,
  );

describe("the links of a host", () => {
  test("are found in a store that another process writes, and changes reach memory", async () => {
    const store = openWriter(dir, { reserveBytes: 0 });
    write(store, [activeLink("a", 1), activeLink("b", 1)]);
    using process = startProcess();
    expect(await process.links.fetch("", "a")).toMatchObject({ version: 1 });
    expect(process.cached("a")).toBe("https://example.com/1");
    expect(process.cached("b")).toBeUndefined();
    write(store, [activeLink("a", 2), activeLink("b", 2)]);
    await eventually(
      async () => expect(process.cached("a")).toBe("https://example.com/2"),
      WITHIN_MS,
    );
    // What nobody has requested takes no memory.
    expect(process.cached("b")).toBeUndefined();
    write(store, [{ state: "deleted", version: 3, domain: "", alias: "a" }]);
    await eventually(async () => expect(process.cached("a")).toBeNull(), WITHIN_MS);
    store.close();
  });

  test("take over many changes in several turns of the event loop, and all of them", async () => {
    const store = openWriter(dir, { reserveBytes: 0 });
    const aliases = Array.from({ length: 500 }, (_, i) => `many-${i}`);
    const ofVersion = (version: number) => aliases.map((alias) => activeLink(alias, version));
    write(store, ofVersion(1));
    using process = startProcess(AWAY, 0);
    for (const alias of aliases) await process.links.fetch("", alias);
    const changed = () =>
      aliases.filter((alias) => process.cached(alias) === "https://example.com/2").length;
    write(store, ofVersion(2));
    process.links.poll();
    const first = changed();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(aliases.length);
    await eventually(async () => expect(changed()).toBe(aliases.length), WITHIN_MS);
    store.close();
  });

  longTest("are not known before there is a store, or while it lacks links", async () => {
    using process = startProcess();
    expect(process.links.find("", "a")).toBeUndefined();
    expect(process.links.fetch("", "a")).rejects.toThrow("no links store");
    const store = openWriter(dir, { reserveBytes: 0 });
    const takedowns = takedownNotice(1, { accounts: [], hosts: [] });
    write(store, [activeLink("a", 1), takedowns], { ...complete, complete: false });
    await eventually(async () => expect(process.links.find("", "a")).toBeTruthy(), WITHIN_MS);
    expect(process.links.find("", "unknown")).toBeUndefined();
    expect(process.links.fetch("", "unknown")).rejects.toThrow("lacks links");
    write(store, []);
    await eventually(async () => expect(process.links.find("", "unknown")).toBeNull(), WITHIN_MS);
    // NATS may just have gone: others may have put a link into the feed.
    expect(process.links.fetch("", "unknown")).rejects.toThrow("NATS has just gone");
    await eventually(
      async () => expect(await process.links.fetch("", "unknown")).toBeUndefined(),
      WITHIN_MS,
    );
    store.close();
  });

  test("are not read before the takedowns are known", async () => {
    const store = openWriter(dir, { reserveBytes: 0 });
    const evil = { ...activeLink("evil", 1), destination: "https://evil.example/" };
    write(store, [evil], { ...complete, complete: false });
    using process = startProcess();
    expect(process.links.find("", "evil")).toBeUndefined();
    write(store, [takedownNotice(2, { accounts: [], hosts: ["evil.example"] })], {
      ...complete,
      complete: false,
    });
    await eventually(async () => expect(process.links.find("", "evil")).toBeTruthy(), WITHIN_MS);
    const path = Buffer.from("/evil");
    expect(process.cache.get("", path, { start: 0, end: path.length })).toBe("taken_down");
    store.close();
  });

  test("take over takedowns and the settings of domains, and forget domains that are no more", async () => {
    const store = openWriter(dir, { reserveBytes: 0 });
    write(store, []);
    using process = startProcess();
    const isCovered = () =>
      process.takedowns.covers({ account_id: "a", destination: "https://evil.example/" });
    write(store, [
      takedownNotice(2, { accounts: [], hosts: ["evil.example"] }),
      domainNotice(3, "go.example.com", { not_found_url: "https://example.com/" }),
    ]);
    await eventually(async () => expect(isCovered()).toBe(true), WITHIN_MS);
    expect(process.domains.get("go.example.com")).toMatchObject({
      not_found: { response: { status: 302 } },
    });
    store.sweep(4, 0, 10, (key) => key.startsWith("/"));
    await eventually(
      async () => expect(process.domains.get("go.example.com")).toBeUndefined(),
      WITHIN_MS,
    );
    store.close();
  });

  longTest(
    "are forgotten in memory by a process that is too far behind, and read again",
    async () => {
      const store = openWriter(dir, { reserveBytes: 0 });
      write(store, [activeLink("a", 1)]);
      using process = startProcess();
      await process.links.fetch("", "a");
      const others = Array.from({ length: CHANGES_KEPT + 10 }, (_, i) => activeLink(`o-${i}`, 1));
      write(store, [activeLink("a", 2), ...others]);
      await eventually(async () => expect(process.cached("a")).toBeUndefined(), WITHIN_MS);
      expect(await process.links.fetch("", "a")).toMatchObject({ version: 2 });
      store.close();
    },
  );

  test("stay in memory when the store is damaged, and come from the next one", async () => {
    const store = openWriter(dir, { reserveBytes: 0 });
    write(store, [activeLink("a", 1), activeLink("b", 1)]);
    store.close();
    using process = startProcess();
    await process.links.fetch("", "a");
    const db = new Database(storePath(dir));
    db.run("UPDATE links SET record = x'0123456789'");
    db.close();
    expect(process.links.fetch("", "b")).rejects.toThrow();
    expect(process.damages).toHaveLength(1);
    expect(process.cached("a")).toBe("https://example.com/1");
    renameSync(storePath(dir), join(dir, "damaged"));
    const next = openWriter(dir, { reserveBytes: 0 });
    write(next, [activeLink("b", 2)], { ...complete, complete: false });
    // The next store lacks links: it is no reason to forget any.
    await Bun.sleep(1_000);
    expect(process.cached("a")).toBe("https://example.com/1");
    write(next, [activeLink("a", 2)]);
    await eventually(async () => {
      expect(await process.links.fetch("", "a")).toMatchObject({ version: 2 });
      expect(process.cached("a")).toBe("https://example.com/2");
    }, WITHIN_MS);
    next.close();
  });
});

describe("an alias that the store does not have", () => {
  test("waits for what the feed had when it was requested, however many are", async () => {
    await using server = await startNats();
    const connection = await server.connect();
    const manager = await connection.jetstreamManager();
    await ensureLinksStream(manager, 1);
    const { created } = await manager.streams.info(LINKS_STREAM);
    const nats = openNats({ url: server.url, name: "redirector", log });
    await nats.connection;
    const store = openWriter(dir, { reserveBytes: 0 });
    write(store, [], { ...complete, stream: created, sequence: 0 });
    using process = startProcess(nats);
    expect(await process.links.fetch("", "new")).toBeUndefined();
    const link = activeLink("new", 1);
    await connection
      .jetstream()
      .publish(linkSubject({ domain: "", alias: "new" }), encodeLinkRecord(link));
    // The feed has it, and the store does not yet.
    const fetched = Promise.all(Array.from({ length: 100 }, () => process.links.fetch("", "new")));
    await Bun.sleep(100);
    write(store, [link], { ...complete, stream: created, sequence: 1 });
    for (const record of await fetched) expect(record).toEqual(link);
    await nats.close();
    await connection.close();
    store.close();
  });
});

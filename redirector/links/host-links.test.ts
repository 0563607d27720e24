/**
 * Goal: requests get what the store has, changes reach memory, and a link is only said not to exist
 * when the store has the last entry of the links log.
 */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, renameSync } from "node:fs";
import { basename, join } from "node:path";

import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { domainNotice, takedownNotice } from "../../shared/contracts/notices.ts";
import { newUuid } from "../../shared/ids.ts";
import { NO_HASH } from "../../shared/links-log/entries.ts";
import { ensureLinkLogStream, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { EMPTY_LOG, type LogState, toChange } from "../../shared/links-store/schema.ts";
import { processLog } from "../../shared/log.ts";
import { type Nats, NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { dirForEach } from "../../test/harness/for-file.ts";
import { LinksProcess } from "../../test/harness/host-links.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { AWAY, startNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { publishEntries, TestLog, type Written } from "../../test/harness/test-log.ts";
import {
  currentFolder,
  damageMarkPath,
  newFolder,
  setCurrentFolder,
  storePath,
} from "./store-files.ts";
import { CHANGES_KEPT, LogStore } from "./store.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 30_000;

const log = processLog("test", "silent");

const head = { term: 1, position: 5, hash: NO_HASH };

/** A store with all links, and one that lacks an entry before its last one. */
const complete: LogState = {
  ...EMPTY_LOG,
  head,
  written: head,
  isCurrent: true,
  isFilled: true,
};
const lacking: LogState = { ...complete, written: { ...head, position: 6 }, isCurrent: false };

const dir = dirForEach("shorthop-links-");

const openStore = () => new LogStore(currentFolder(dir()), 0);

const startProcess = (nats: Nats = AWAY, turnMs?: number) =>
  new LinksProcess(dir(), nats, log, turnMs);

const write = (store: LogStore, records: readonly LinkRecord[], state = complete): void =>
  store.write(
    records.map((record) => toChange(record)),
    state,
  );

const evil = { ...activeLink("evil", 1), destination: "https://evil.example/" };

/** A list of takedowns, without which no store is read. */
const takedowns = (...hosts: string[]) => takedownNotice({ accounts: [], hosts });

const domainOf = (settings: { not_found_url?: string }) => domainNotice("go.example.com", settings);

/** Waits until something is so. */
const becomes = (read: () => unknown, expected: unknown) =>
  eventually(async () => expect(await read()).toEqual(expected), WITHIN_MS);

describe("the links of a host", () => {
  test("are found in a store that another process writes, and changes reach memory, whatever their versions", async () => {
    using store = openStore();
    write(store, [activeLink("a", 1), activeLink("b", 1)]);
    using process = startProcess();
    expect(await process.links.fetch("", "a")).toMatchObject({ version: 1 });
    expect(process.cached("a")).toBe("https://example.com/1");
    expect(process.cached("b")).toBeUndefined();
    for (const version of [2, 1]) {
      write(store, [activeLink("a", version), activeLink("b", version)]);
      await becomes(() => process.cached("a"), `https://example.com/${version}`);
    }
    // What nobody has requested takes no memory.
    expect(process.cached("b")).toBeUndefined();
    write(store, [{ state: "deleted", version: 3, domain: "", alias: "a" }]);
    await becomes(() => process.cached("a"), null);
  });

  test("take over many changes in several turns of the event loop, and all of them", async () => {
    using store = openStore();
    const aliases = Array.from({ length: 500 }, (_, i) => `many-${i}`);
    const ofVersion = (version: number) => aliases.map((alias) => activeLink(alias, version));
    write(store, ofVersion(1));
    using process = startProcess(AWAY, 0);
    for (const alias of aliases) await process.links.fetch("", alias);
    const changed = () =>
      aliases.filter((alias) => process.cached(alias) === "https://example.com/2").length;
    write(store, ofVersion(2));
    process.host.poll();
    const first = changed();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(aliases.length);
    await becomes(() => changed(), aliases.length);
  });

  test("take over changes once in each turn of the event loop, however far behind the process is", async () => {
    using store = openStore();
    write(store, [takedowns()]);
    using process = startProcess(AWAY, 0);
    const { host } = process;
    const poll = host.poll.bind(host);
    let polls = 0;
    host.poll = () => {
      polls++;
      poll();
    };
    const others = Array.from({ length: 20_000 }, (_, i) => activeLink(`o-${i}`, 1));
    write(store, others);
    const inTurns: number[] = [];
    for (; inTurns.length < 10; polls = 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (polls > 0) inTurns.push(polls);
    }
    expect(Math.max(...inTurns)).toBe(1);
  });

  test("are not known before there is a store, or while it lacks links, nor without NATS", async () => {
    using process = startProcess();
    expect(process.links.find("", "a")).toBeUndefined();
    expect(process.links.fetch("", "a")).rejects.toThrow("no links store");
    using store = openStore();
    write(store, [activeLink("a", 1), takedowns()], lacking);
    await becomes(() => process.links.find("", "a"), expect.anything());
    expect(process.links.find("", "unknown")).toBeUndefined();
    expect(process.links.fetch("", "unknown")).rejects.toThrow("lacks links");
    write(store, []);
    await becomes(() => process.links.find("", "unknown"), null);
    // Others may have put a link into the log.
    expect(process.links.fetch("", "unknown")).rejects.toThrow("no connection to NATS");
    expect(await process.links.fetch("", "a")).toMatchObject({ version: 1 });
  });

  test("are not read from a new store before it has had all of the tail: their states are older", async () => {
    using store = openStore();
    write(store, [activeLink("a", 1), takedowns()], { ...complete, isFilled: false, pending: 9 });
    using process = startProcess();
    expect(process.links.find("", "a")).toBeUndefined();
    expect(process.links.fetch("", "a")).rejects.toThrow("no links store");
    write(store, [activeLink("a", 2)]);
    await becomes(() => process.links.find("", "a"), expect.objectContaining({ version: 2 }));
  });

  test("are not read before the takedowns are known", async () => {
    using store = openStore();
    write(store, [evil], lacking);
    using process = startProcess();
    expect(process.links.find("", "evil")).toBeUndefined();
    write(store, [takedowns("evil.example")], lacking);
    await becomes(() => process.links.find("", "evil"), expect.anything());
    expect(process.cached("evil")).toBe("taken_down");
  });

  test("are marked in memory when the takedowns change, also by a store that lacks links", async () => {
    using store = openStore();
    write(store, [evil, takedowns()]);
    using process = startProcess();
    await process.links.fetch("", "evil");
    write(store, [takedowns("evil.example")]);
    await becomes(() => process.cached("evil"), "taken_down");
    write(store, [takedowns()]);
    await becomes(() => process.cached("evil"), "https://evil.example/");
    const folder = newFolder(dir());
    using next = new LogStore(folder, 0);
    write(next, [takedowns("evil.example")], lacking);
    setCurrentFolder(dir(), basename(folder));
    await becomes(() => process.cached("evil"), "taken_down");
  });

  test("take over takedowns, also an earlier list of them, and the settings of domains", async () => {
    using store = openStore();
    write(store, []);
    using process = startProcess();
    const isCovered = () =>
      process.takedowns.covers({ account_id: "a", destination: "https://evil.example/" });
    write(store, [
      takedownNotice({ accounts: [], hosts: ["evil.example"] }),
      domainOf({ not_found_url: "https://example.com/" }),
    ]);
    await becomes(() => isCovered(), true);
    expect(process.domains.get("go.example.com")).toMatchObject({
      not_found: { response: { status: 302 } },
    });
    // As after PostgreSQL was restored.
    write(store, [takedowns(), domainOf({})]);
    await eventually(async () => {
      expect(isCovered()).toBe(false);
      expect(process.domains.get("go.example.com")).toBeNull();
    }, WITHIN_MS);
  });

  longTest(
    "are forgotten in memory by a process that is too far behind, and read again",
    async () => {
      using store = openStore();
      write(store, [activeLink("a", 1)]);
      using process = startProcess();
      await process.links.fetch("", "a");
      const others = Array.from({ length: CHANGES_KEPT + 10 }, (_, i) => activeLink(`o-${i}`, 1));
      write(store, [activeLink("a", 2), ...others]);
      await becomes(() => process.cached("a"), undefined);
      expect(await process.links.fetch("", "a")).toMatchObject({ version: 2 });
    },
  );

  test("stay in memory when the store is damaged, and come from the next one", async () => {
    {
      using store = openStore();
      write(store, [activeLink("a", 1), activeLink("b", 1), takedowns("evil.example")]);
    }
    using process = startProcess();
    await process.links.fetch("", "a");
    {
      using db = new Database(storePath(currentFolder(dir())));
      db.run("UPDATE links SET record = x'0123456789' WHERE key = '/b'");
    }
    expect(process.links.fetch("", "b")).rejects.toThrow();
    expect(existsSync(damageMarkPath(currentFolder(dir())))).toBe(true);
    // It is opened again, until somebody replaces it.
    await becomes(() => process.links.find("", "a"), expect.objectContaining({ version: 1 }));
    expect(process.cached("a")).toBe("https://example.com/1");
    renameSync(currentFolder(dir()), join(dir(), "damaged"));
    using next = openStore();
    const empty = { ...EMPTY_LOG, written: head };
    write(next, [activeLink("a", 0), takedowns()], { ...empty, pending: 3 });
    // The next store reads old entries, which are no reason to forget or to replace anything.
    await Bun.sleep(300);
    expect(process.cached("a")).toBe("https://example.com/1");
    expect(process.links.find("", "a")).toBeUndefined();
    // Now it has the last ones, and lacks links.
    write(next, [activeLink("a", 2)], { ...empty, isFilled: true });
    await becomes(() => process.cached("a"), "https://example.com/2");
    expect(process.cache.has("", "a")).toBe(true);
    write(next, [activeLink("b", 2)]);
    await becomes(() => process.links.fetch("", "b"), expect.objectContaining({ version: 2 }));
  });

  test("are those of the store that replaces another one, and nothing of that one stays", async () => {
    using store = openStore();
    write(store, [activeLink("changed", 2), activeLink("gone", 2), evil, takedowns()], complete);
    using process = startProcess();
    for (const alias of ["changed", "gone", "evil"]) await process.links.fetch("", alias);
    const folder = newFolder(dir());
    using next = new LogStore(folder, 0);
    write(next, [activeLink("changed", 1), evil, takedowns("evil.example")]);
    setCurrentFolder(dir(), basename(folder));
    await becomes(() => process.links.find("", "gone"), null);
    expect(process.links.find("", "changed")).toMatchObject({ version: 1 });
    expect(process.cached("gone")).toBeUndefined();
    expect(process.cached("changed")).toBe("https://example.com/1");
    expect(process.links.find("", "evil")).toBeTruthy();
    expect(process.cached("evil")).toBe("taken_down");
  });
});

/** A tail, and a store of the host. */
async function startTail() {
  const server = await startNats();
  const connection = await server.connect();
  const manager = await connection.jetstreamManager();
  await ensureLinkLogStream(manager, 1);
  const nats = new NatsClient(server.url, "redirector", log);
  await nats.connection;
  return {
    nats,
    manager,
    publish: (...entries: Written[]) => publishEntries(connection, entries),
    async [Symbol.asyncDispose]() {
      await nats.close();
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const after = (written: TestLog, entry: Written, isCurrent = true): LogState => ({
  ...EMPTY_LOG,
  database: written.database,
  head: entry,
  written: entry,
  isCurrent,
  isFilled: true,
});

describe("an alias that the store does not have", () => {
  test("waits for what the log had when it was requested, however many are", async () => {
    await using tail = await startTail();
    const written = new TestLog();
    const first = written.add();
    await tail.publish(first);
    using store = openStore();
    write(store, [], after(written, first));
    using process = startProcess(tail.nats);
    expect(await process.links.fetch("", "new")).toBeUndefined();
    const second = written.add(["new"]);
    await tail.publish(second);
    // The log has it, and the store does not yet.
    const fetched = Promise.all(Array.from({ length: 100 }, () => process.links.fetch("", "new")));
    await Bun.sleep(100);
    const link = activeLink("new", 1);
    write(store, [link], after(written, second));
    for (const record of await fetched) expect(record).toEqual(link);
  });

  test("is not known while the last entry is not the store's, or may be that of an old tail", async () => {
    await using tail = await startTail();
    const written = new TestLog();
    const [first, second] = [written.add(), written.add()];
    await tail.publish(first, second);
    using store = openStore();
    const other = written.restoredTo(first).add(["new"]);
    const current = after(written, second);
    write(store, [], current);
    using process = startProcess(tail.nats);
    for (const state of [
      after(written, first),
      // The same place in another history, another database, and a tail that was restored.
      { ...current, head: { ...second, hash: other.hash } },
      { ...current, database: newUuid() },
      after(written, second, false),
    ]) {
      write(store, [], state);
      let isKnown = false;
      const fetching = process.links.fetch("", "new").then(() => (isKnown = true));
      // Nobody says meanwhile that the link does not exist.
      await Bun.sleep(100);
      expect(isKnown).toBe(false);
      write(store, [], current);
      expect(await fetching).toBe(true);
    }
    await tail.manager.streams.purge(LINK_LOG_STREAM);
    expect(process.links.fetch("", "new")).rejects.toThrow();
  });
});

/**
 * Goal: a host that lacks entries gets a store with all links, not before it is at the head, and
 * serves the one it has until then. Method: a real NATS server.
 */
import { Database } from "bun:sqlite";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JetStreamManager, NatsConnection } from "nats";

import { storeSnapshot } from "../../api/links-log/snapshot-writer.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { EMPTY_STORE, lacksEntries } from "../../shared/links-log/decisions.ts";
import { EMPTY_HEAD, type Head } from "../../shared/links-log/entry.ts";
import { ensureSnapshotsStream, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshot-stream.ts";
import { ensureLinkLogStream, findInTail, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import type { LogState } from "../../shared/links-store/log-state.ts";
import { STORE_FORMAT, toChange } from "../../shared/links-store/schema.ts";
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { publishEntries, TestLog, type Written } from "../../test/harness/test-log.ts";
import { currentFolder, HostLog } from "./host-log.ts";
import { LogStore } from "./log-store.ts";
import { markDamaged, storePath } from "./store-files.ts";
import { openReader } from "./store-reader.ts";

setDefaultTimeout(60_000);

const WITHIN_MS = 10_000;

const log = createLog("test", "silent");

let server: TestNats;
let connection: NatsConnection;
let manager: JetStreamManager;
beforeAll(async () => {
  server = await startNats();
  connection = await server.connect();
  manager = await connection.jetstreamManager({ timeout: 500 });
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});

let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  for (const name of [LINK_LOG_STREAM, SNAPSHOTS_STREAM])
    await manager.streams.delete(name).catch(() => undefined);
  await ensureLinkLogStream(manager, 1);
  await ensureSnapshotsStream(manager, 1);
});
afterEach(() => rmSync(dir, { recursive: true }));

const publish = (...entries: readonly Written[]) => publishEntries(connection, entries);

function startHost() {
  const asked: LogState[] = [];
  const nats = openNats({ url: server.url, name: "redirector", log });
  const host = new HostLog(join(dir, "host"), nats, (state) => void asked.push(state), log);
  return {
    host,
    asked,
    /** The links that the host has of these. */
    linksOf(...aliases: string[]): string[] {
      using reader = openReader(currentFolder(join(dir, "host")));
      return aliases.filter((alias) => reader.find("", alias) !== undefined);
    },
    reaches: ({ hash }: Head) =>
      eventually(async () => expect(host.state.written.hash).toBe(hash), WITHIN_MS),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await nats.close();
    },
  };
}

/** Stores a snapshot with these links. */
async function store(written: TestLog, start: Head, end: Head, aliases: string[]): Promise<void> {
  const folder = mkdtempSync(join(dir, "snapshot-"));
  {
    using file = new LogStore(folder, 0);
    const changes = aliases.map((alias) => {
      const record = activeLink(alias, 1);
      return toChange(record, encodeLinkRecord(record));
    });
    const state = { ...EMPTY_STORE, database: written.database, head: start, written: start };
    file.write(changes, { ...state, sequence: 0, isCurrent: false });
  }
  // The file alone, as a builder writes it.
  using db = new Database(storePath(folder), { readwrite: true, create: false });
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const contents = { format: STORE_FORMAT, database: written.database, start, end };
  await storeSnapshot(connection.jetstream(), storePath(folder), {
    ...contents,
    links: aliases.length,
  });
}

/** A host whose store has the first link, and a tail without the second entry. */
async function startBehind(written: TestLog) {
  await publish(written.add(["first"]));
  {
    await using behind = startHost();
    await behind.reaches(written.entries[0] ?? EMPTY_HEAD);
  }
  await publish(written.add(["missing"]), written.add(["later"]));
  await manager.streams.purge(LINK_LOG_STREAM, { seq: 3 });
  const started = startHost();
  await started.reaches(written.entries[2] ?? EMPTY_HEAD);
  expect(lacksEntries(started.host.state)).toBe(true);
  return started;
}

describe("a host that lacks entries", () => {
  test("asks for a snapshot, and takes it at the head, which a new entry shows", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    await eventually(async () => expect(host.asked.length).toBeGreaterThan(0), WITHIN_MS);
    const [, second, third] = written.entries;
    if (second === undefined || third === undefined) throw new Error("No entries.");
    await store(written, second, third, ["first", "missing"]);
    // It has all entries, but they may be those of an old tail.
    await eventually(async () => expect(readdirSync(join(dir, "host"))).toHaveLength(2), WITHIN_MS);
    await publish(written.add(["new"]));
    await eventually(async () => {
      await publish(written.add());
      expect(host.host.state).toMatchObject({ isCurrent: true, links: 4, doubtful: undefined });
    }, WITHIN_MS);
    expect(host.linksOf("first", "missing", "later", "new")).toHaveLength(4);
    // The store before is gone, and a restart goes on with the new one.
    await eventually(async () => expect(readdirSync(join(dir, "host"))).toHaveLength(2), WITHIN_MS);
    await host.host.stop();
    await using again = startHost();
    await publish(written.add(["newer"]));
    await eventually(async () => {
      await publish(written.add());
      expect(again.host.state).toMatchObject({ isCurrent: true, links: 5 });
    }, WITHIN_MS);
  });

  test("does not take one whose end is of a history that was lost, but another one", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    const [, second, third] = written.entries;
    if (second === undefined || third === undefined) throw new Error("No entries.");
    const lost = written.restoredTo(third).add(["lost"]);
    await store(written, third, lost, ["first", "missing", "later", "lost"]);
    await eventually(async () => {
      await publish(written.add());
      expect(readdirSync(join(dir, "host"))).toHaveLength(1);
      expect(host.asked.length).toBeGreaterThan(1);
    }, WITHIN_MS);
    expect(host.linksOf("lost", "missing")).toEqual([]);
    await store(written, second, third, ["first", "missing"]);
    await eventually(async () => {
      await publish(written.add());
      expect(host.host.state.isCurrent).toBe(true);
    }, WITHIN_MS);
    expect(host.linksOf("first", "missing", "later", "lost")).toEqual([
      "first",
      "missing",
      "later",
    ]);
  });
});

test("a host whose store was deleted, or is marked as damaged, writes it no more", async () => {
  const written = new TestLog();
  for (const spoil of [
    (folder: string) => rmSync(storePath(folder)),
    (folder: string) => markDamaged(folder),
  ]) {
    rmSync(join(dir, "host"), { recursive: true, force: true });
    await using host = startHost();
    const ended = host.host.ended.then(() => "stopped", String);
    spoil(currentFolder(join(dir, "host")));
    await publish(written.add(["a"]));
    expect(await ended).toMatch(/The links store (?:was deleted|is damaged)/);
  }
});

test("a tail goes on after its entries, and after the one before its first", async () => {
  const written = new TestLog();
  const entries = Array.from({ length: 20 }, () => written.add());
  await publish(...entries);
  await manager.streams.purge(LINK_LOG_STREAM, { seq: 6 });
  const found = await Promise.all(entries.map((entry) => findInTail(manager, entry)));
  // Of an entry and the one after it, either is where the tail goes on.
  expect(found.map((sequence) => sequence !== undefined)).toEqual(entries.map((_, i) => i >= 4));
  expect(found.slice(5).every((sequence, i) => [i + 6, i + 7].includes(sequence ?? 0))).toBe(true);
  const [other] = [written.restoredTo(entries[9] ?? EMPTY_HEAD).add(["other"])];
  expect(await findInTail(manager, other)).toBeUndefined();
});

/**
 * Goal: a host that lacks entries gets a store with all links, not before it is at the head, and
 * serves the one it has until then. Method: a real NATS server.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { newUuid } from "../../shared/ids.ts";
import { EMPTY_HEAD, type Head, lacksEntries } from "../../shared/links-log/entries.ts";
import {
  chunkSubject,
  decodeSnapshotRequest,
  listSnapshots,
  SNAPSHOT_REQUESTS,
  SNAPSHOTS_STREAM,
} from "../../shared/links-log/snapshots.ts";
import { findInTail, LINK_LOG_STREAM, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { SIGNER, signerOf } from "../../test/harness/links-log.ts";
import { storeTestSnapshot, TestLog, TestTail } from "../../test/harness/test-log.ts";
import { HostLog } from "./host-log.ts";
import { currentFolder, markDamaged, storePath } from "./store-files.ts";
import { LogStore, StoreReader } from "./store.ts";

setDefaultTimeout(60_000);

const log = processLog("test", "silent");

const tail = new TestTail();

function startHost() {
  const asked: (number | undefined)[] = [];
  const requests = tail.connection.subscribe(SNAPSHOT_REQUESTS, {
    callback: (_, { data }) => void asked.push(decodeSnapshotRequest(data)),
  });
  const nats = new NatsClient(tail.server.url, "redirector", log);
  const host = new HostLog(join(tail.dir, "host"), { nats, verifier: SIGNER, log });
  return {
    host,
    asked,
    /** The links that the host has of these. */
    linksOf(...aliases: string[]): string[] {
      using reader = new StoreReader(currentFolder(join(tail.dir, "host")));
      return aliases.filter((alias) => reader.find("", alias) !== undefined);
    },
    reaches: ({ hash }: Head) => eventually(async () => expect(host.state.written.hash).toBe(hash)),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await nats.close();
      requests.unsubscribe();
    },
  };
}

/** Stores a snapshot with these links. */
const store = (written: TestLog, start: Head, end: Head, aliases: string[]) =>
  storeTestSnapshot(tail.connection, written.database, { start, end }, aliases);

/** Waits until the store of a host is so, while heartbeats are published. */
const becomes = (host: HostLog, written: TestLog, state: object) =>
  eventually(async () => {
    await tail.publish(written.add());
    expect(host.state).toMatchObject(state);
  });

/** A host whose store has the first link, and a tail without the second entry. */
async function startBehind(written: TestLog) {
  const first = written.add(["first"]);
  await tail.publish(first);
  {
    await using behind = startHost();
    await behind.reaches(first);
  }
  const [second, third] = [written.add(["missing"]), written.add(["later"])];
  await tail.publish(second, third);
  await tail.manager.streams.purge(LINK_LOG_STREAM, { seq: 3 });
  const started = startHost();
  await started.reaches(third);
  expect(lacksEntries(started.host.state)).toBe(true);
  const storeMissing = () => store(written, second, third, ["first", "missing"]);
  return Object.assign(started, { second, third, storeMissing });
}

/** The folders of stores, and what says which one is the host's. */
const listFolders = () =>
  readdirSync(join(tail.dir, "host")).filter((name) => !name.endsWith(".current"));

describe("a host that lacks entries", () => {
  test("asks for a snapshot, and takes it at the head, which a new entry shows", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    await eventually(async () => expect(host.asked.length).toBeGreaterThan(0));
    await host.storeMissing();
    // It has all entries, but they may be those of an old tail.
    await eventually(async () => expect(readdirSync(join(tail.dir, "host"))).toHaveLength(2));
    await tail.publish(written.add(["new"]));
    await becomes(host.host, written, { isCurrent: true, links: 4 });
    expect(host.linksOf("first", "missing", "later", "new")).toHaveLength(4);
    // The store before is gone, and a restart goes on with the new one.
    await eventually(async () => expect(readdirSync(join(tail.dir, "host"))).toHaveLength(2));
    await host.host.stop();
    await using again = startHost();
    await tail.publish(written.add(["newer"]));
    await becomes(again.host, written, { isCurrent: true, links: 5 });
  });

  test("ends when it is stopped before a snapshot's store is at the head", async () => {
    await using host = await startBehind(new TestLog());
    await host.storeMissing();
    await eventually(async () => expect(host.host.state.obstacle).toContain("a snapshot was read"));
    await host.host.stop();
    expect(readdirSync(join(tail.dir, "host"))).toHaveLength(1);
  });

  test("again takes the snapshot again that its store was made from", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    await host.storeMissing();
    await becomes(host.host, written, { isCurrent: true, links: 3 });
    await host.host.stop();
    const folder = currentFolder(join(tail.dir, "host"));
    {
      using file = new LogStore(folder, 0);
      file.write([], { ...file.state, head: host.third, isCurrent: false });
      expect(lacksEntries(file.state)).toBe(true);
    }
    await using again = startHost();
    await becomes(again.host, written, { isCurrent: true, links: 3 });
    expect(currentFolder(join(tail.dir, "host"))).not.toBe(folder);
  });

  test("does not take one whose end is of a history that was lost, but another one", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    const lost = written.restoredTo(host.third).add(["lost"]);
    await store(written, host.third, lost, ["first", "missing", "later", "lost"]);
    await eventually(async () => {
      await tail.publish(written.add());
      expect(readdirSync(join(tail.dir, "host"))).toHaveLength(1);
      expect(host.asked.length).toBeGreaterThan(1);
    });
    expect(host.linksOf("lost", "missing")).toEqual([]);
    await host.storeMissing();
    await becomes(host.host, written, { isCurrent: true });
    const links = ["first", "missing", "later"];
    expect(host.linksOf(...links, "lost")).toEqual(links);
  });

  test("reads a snapshot that is not what was stored once, and asks for another one", async () => {
    await using host = await startBehind(new TestLog());
    await host.storeMissing();
    const [stored] = await listSnapshots(tail.manager, SIGNER);
    if (stored === undefined) throw new Error("There is no snapshot.");
    const chunk = chunkSubject(stored.name, 0);
    const { streams } = tail.manager;
    const { seq } = await streams.getMessage(SNAPSHOTS_STREAM, { last_by_subj: chunk });
    await streams.deleteMessage(SNAPSHOTS_STREAM, seq);
    await tail.connection.jetstream().publish(chunk, "another one");
    const asked = host.asked.length;
    await eventually(async () => expect(host.asked.length).toBeGreaterThan(asked));
    expect(listFolders()).toHaveLength(1);
  });

  test("does not see a snapshot that nobody signed with a known key, and takes one that was", async () => {
    const written = new TestLog();
    await using host = await startBehind(written);
    const stranger = signerOf({ links_signing_key: "6".repeat(64) });
    const range = { start: host.second, end: host.third };
    await storeTestSnapshot(tail.connection, written.database, range, ["forged"], stranger);
    const asked = host.asked.length;
    await eventually(async () => expect(host.asked.length).toBeGreaterThan(asked + 1));
    expect(await listSnapshots(tail.manager, stranger)).toHaveLength(1);
    expect(listFolders()).toHaveLength(1);
    await host.storeMissing();
    await becomes(host.host, written, { isCurrent: true, links: 3 });
    expect(host.linksOf("forged")).toEqual([]);
  });
});

test("a host without links takes a snapshot while nobody publishes, and does not know what does not exist", async () => {
  // As PostgreSQL's: no store has the entry before its first one.
  const written = new TestLog(newUuid(), { ...EMPTY_HEAD, hash: "a".repeat(64) });
  const [first, second] = [written.add(["first"]), written.add(["second"])];
  await tail.publish(first, second, written.add(["third"]));
  await store(written, first, second, ["zeroth", "first"]);
  await using host = startHost();
  await eventually(async () => {
    expect(host.host.state).toMatchObject({ isCurrent: false, links: 4, obstacle: null });
  });
  expect(lacksEntries(host.host.state)).toBe(false);
  expect(host.linksOf("zeroth", "first", "second", "third")).toHaveLength(4);
  await tail.publish(written.add());
  await eventually(async () => expect(host.host.state.isCurrent).toBe(true));
});

test("a host at the end of a tail of another history asks with its last entry, and takes the links of a new term", async () => {
  const written = new TestLog();
  const [first, lost] = [written.add(["first"]), written.add(["lost"])];
  const last = written.add(["lost-too"]);
  await tail.publish(first, lost, last);
  await using host = startHost();
  await host.reaches(last);
  // PostgreSQL and NATS came back older, and a clock is wrong: nothing is later than the store.
  const restored = written.restoredTo({ ...first, position: first.position - 1_000 });
  await tail.manager.streams.purge(LINK_LOG_STREAM);
  await tail.publish(restored.add([], 1, first.position - 900));
  await eventually(async () => expect(host.asked.at(-1)).toBe(last.term));
  expect(host.host.state).toMatchObject({ isCurrent: false, links: 3 });
  expect(host.host.state.obstacle).toContain("waits for a snapshot");
  const begin = restored.add(["new"], 2);
  await tail.publish(begin);
  await store(restored, begin, begin, ["first", "new"]);
  await eventually(async () => {
    await tail.publish(restored.add([], 2));
    expect(host.host.state).toMatchObject({ isCurrent: true, links: 2, obstacle: null });
  });
  expect(host.linksOf("first", "lost", "new")).toEqual(["first", "new"]);
});

test("a host that another database publishes for says so, keeps its links, and asks for nothing", async () => {
  const [written, other] = [new TestLog(), new TestLog()];
  const first = written.add(["a"]);
  await tail.publish(first);
  await using host = startHost();
  await host.reaches(first);
  await tail.publish(other.add(["b"]));
  await eventually(async () => {
    const { obstacle } = host.host.state;
    expect(obstacle).toContain(`${other.database}, and the links are of ${written.database}`);
    expect(obstacle).toContain("shorthop links adopt");
  });
  await tail.publish(written.add(["c"]));
  await eventually(async () => expect(host.host.state.obstacle).toBeNull());
  expect([host.asked, host.linksOf("a", "b", "c")]).toEqual([[], ["a", "c"]]);
});

test("a host whose store was deleted, or is marked as damaged, writes it no more", async () => {
  const written = new TestLog();
  for (const spoil of [
    (folder: string) => rmSync(storePath(folder)),
    () => markDamaged(join(tail.dir, "host")),
  ]) {
    rmSync(join(tail.dir, "host"), { recursive: true, force: true });
    await using host = startHost();
    const ended = host.host.ended.then(() => "stopped", String);
    spoil(currentFolder(join(tail.dir, "host")));
    await tail.publish(written.add(["a"]));
    expect(await ended).toMatch(/The links store (?:was deleted|is damaged)/);
  }
});

test("a tail goes on after its entries, and after the one before its first, beside what is lost", async () => {
  const written = new TestLog();
  const entries = Array.from({ length: 20 }, () => written.add());
  await tail.publish(...entries);
  await tail.manager.streams.purge(LINK_LOG_STREAM, { seq: 6 });
  const found = await Promise.all(entries.map((entry) => findInTail(tail.manager, SIGNER, entry)));
  // Of an entry and the one after it, either is where the tail goes on.
  expect(found.map((sequence) => sequence !== undefined)).toEqual(entries.map((_, i) => i >= 4));
  expect(found.slice(5).every((sequence, i) => [i + 6, i + 7].includes(sequence ?? 0))).toBe(true);
  // Messages of strangers between them hide none.
  await tail.empty();
  for (const entry of entries) {
    for (let i = 0; i < 3; i++) await tail.intrude(LINK_LOG_SUBJECT, "no entry");
    await tail.publish(entry);
  }
  for (const entry of entries) expect(await findInTail(tail.manager, SIGNER, entry)).toBeNumber();
  const other = written.restoredTo(entries[9] ?? EMPTY_HEAD).add(["other"]);
  expect(await findInTail(tail.manager, SIGNER, other)).toBeUndefined();
  // A damaged block of NATS: many messages in the middle cannot be read.
  const long = Array.from({ length: 400 }, () => written.add());
  await tail.empty();
  await tail.publish(...long);
  for (let seq = 20; seq <= 360; seq++)
    await tail.manager.streams.deleteMessage(LINK_LOG_STREAM, seq);
  for (const [index, isThere] of [5, 200, 375, 399].map((i) => [i, i < 19 || i > 359] as const)) {
    const sequence = await findInTail(tail.manager, SIGNER, long[index] ?? EMPTY_HEAD);
    expect([index, sequence !== undefined]).toEqual([index, isThere]);
  }
});

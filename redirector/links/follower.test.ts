/**
 * Goal: whatever position the store resumes from, it gets every change once, and it says that it is
 * complete only when it is, also while the stream is empty, rolled back or lacks links. Method: a
 * real NATS server.
 */
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JetStreamClient, JetStreamManager, NatsConnection } from "nats";

import {
  encodeHeartbeat,
  type Heartbeat,
  takedownNotice,
} from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, type LinkRecord } from "../../shared/contracts/link-record.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { EMPTY_FEED, type FeedState, toChange } from "../../shared/links-store/schema.ts";
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { LONG, longTest } from "../../test/harness/property-runs.ts";
import { createFeedGroup } from "./feed-group.ts";
import { createFeedRecords } from "./feed-records.ts";
import { StoreError } from "./feed-writer.ts";
import { startFollower } from "./follower.ts";
import { openReader } from "./store-reader.ts";
import { openWriter, type StoreWriter } from "./store-writer.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 30_000;

const log = createLog("test", "silent");

let server: TestNats;
let connection: NatsConnection;
let client: JetStreamClient;
let manager: JetStreamManager;
beforeAll(async () => {
  server = await startNats();
  connection = await server.connect();
  client = connection.jetstream();
  manager = await connection.jetstreamManager();
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(createStream);

const publish = (record: LinkRecord) =>
  client.publish(linkSubject(record), encodeLinkRecord(record));
const publishHeartbeat = (heartbeat: Heartbeat) =>
  client.publish(HEARTBEAT_SUBJECT, encodeHeartbeat(heartbeat));

/**
 * The names of the consumers of the feed; the server removes those of followers that have ended
 * after a while.
 */
async function listConsumers(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of manager.consumers.list(LINKS_STREAM)) names.push(name);
  return names;
}

async function createStream(): Promise<void> {
  await manager.streams.delete(LINKS_STREAM).catch(() => undefined);
  await ensureLinksStream(manager, 1);
}

/** Makes a store that has links and a position in the feed; returns its folder. */
function storeAt(position: FeedState, links: readonly LinkRecord[] = []): string {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  const writer = openWriter(dir, { reserveBytes: 0 });
  writer.write(
    links.map((link) => toChange(link, encodeLinkRecord(link))),
    position,
  );
  writer.close();
  return dir;
}

/** The state of a store that has all of a stream of this epoch. */
const filled = (epoch: number) => ({
  complete: true,
  epoch,
  announced: { complete: true, epoch },
});

type Options = {
  dir?: string;
  overlapMessages?: number;
  pullBatch?: number;
  wrap?: (store: StoreWriter) => StoreWriter;
};

/** Follows the feed into a store, which is removed afterwards unless its folder is given. */
function follow({ dir: given, wrap = (store) => store, ...options }: Options = {}) {
  const dir = given ?? mkdtempSync(join(tmpdir(), "shorthop-links-"));
  const nats = openNats({ url: server.url, name: "redirector", log });
  const store = openWriter(dir, { reserveBytes: 0 });
  const reader = openReader(dir);
  const follower = startFollower({
    nats,
    stream: UNDIVIDED,
    streamReplicas: 1,
    group: createFeedGroup({ store, streams: [UNDIVIDED], log }),
    store: wrap(store),
    records: createFeedRecords(log),
    log,
    ...options,
  });
  return {
    dir,
    ended: follower.ended,
    feed: () => reader.feed(),
    find: (alias: string) => reader.find("", alias),
    async [Symbol.asyncDispose]() {
      await follower.stop();
      store.close();
      reader.close();
      await nats.close();
      if (given === undefined) rmSync(dir, { recursive: true });
    },
  };
}

describe("a store that resumes", () => {
  /** Messages before the position and after it. */
  const BEFORE = 3_100;
  const AFTER = 4;

  const PULLS = [1, 499, 500, 501];
  const OVERLAPS = LONG ? [0, 1, 499, 500, 501, 999, 1_000, 1_001, 3_000] : [0, 1, 500, 1_001];

  /**
   * Fills a stream of which every sequence exists, or only every second one; returns the position
   * before the end.
   */
  async function fill(gaps: boolean): Promise<FeedState> {
    const publications = [];
    for (let i = 0; i < BEFORE; i++) {
      if (gaps) publications.push(publish(activeLink("replaced", i + 1)));
      publications.push(publish(activeLink(`link-${i}`, 1)));
    }
    await Promise.all(publications);
    const { created, state } = await manager.streams.info(LINKS_STREAM);
    for (let i = 0; i < AFTER; i++) await publish(activeLink(`link-${i}`, 2));
    return { ...EMPTY_FEED, stream: created, sequence: state.last_seq, complete: true };
  }

  test.each([
    ["without gaps", false],
    ["with gaps", true],
  ])(
    "takes over what changed, whatever the overlap and the size of a pull, with one consumer, in a stream %s",
    async (_name, gaps) => {
      const position = await fill(gaps);
      const last = position.sequence + AFTER;
      for (const pullBatch of PULLS) {
        const before = new Set(await listConsumers());
        // One message at a time takes long.
        const overlaps = OVERLAPS.filter((overlap) => pullBatch > 1 || overlap <= 1);
        await Promise.all(
          overlaps.map(async (overlapMessages) => {
            await using store = follow({ dir: storeAt(position), overlapMessages, pullBatch });
            await eventually(async () => {
              const { sequence, pending } = store.feed();
              expect([overlapMessages, sequence, pending]).toEqual([overlapMessages, last, 0]);
            }, WITHIN_MS);
            for (let i = 0; i < AFTER; i++) expect(store.find(`link-${i}`)?.version).toBe(2);
            rmSync(store.dir, { recursive: true });
          }),
        );
        const added = (await listConsumers()).filter((name) => !before.has(name));
        // One for each, and another one where a pull took too long; a feed that begins again and
        // again has dozens.
        expect(added.length).toBeLessThan(overlaps.length + 5);
      }
    },
  );

  test.each([
    ["that has every link", true],
    ["that is being filled", false],
  ])(
    "goes on in the midst of a fill, wherever that ended, in a stream %s",
    async (_name, complete) => {
      const COUNT = 300;
      await Promise.all(
        Array.from({ length: COUNT }, (_, i) => publish(activeLink(`link-${i}`, 1))),
      );
      await publishHeartbeat({ complete, epoch: 1, version: 2 });
      const dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
      const written: number[] = [];
      /** Fails after so many transactions, as if the process had been killed. */
      const start = (transactions: number) =>
        follow({
          dir,
          overlapMessages: 0,
          pullBatch: 20,
          wrap: (writer) => ({
            ...writer,
            write(changes, ...state) {
              if (changes.length === 0) return writer.write(changes, ...state);
              if (transactions-- === 0) fail();
              written.push(changes.length);
              return writer.write(changes, ...state);
            },
          }),
        });
      for (let end = 0; end < 4; end++) {
        await using store = start(3);
        expect(await store.ended.catch((error: unknown) => error)).toBeInstanceOf(StoreError);
      }
      await using store = start(COUNT);
      await eventually(async () => expect(store.feed().sequence).toBe(COUNT + 1), WITHIN_MS);
      expect(store.feed().complete).toBe(complete);
      // Each change once.
      expect(written.reduce((sum, changes) => sum + changes, 0)).toBe(COUNT);
      rmSync(dir, { recursive: true });
    },
  );

  test("has the changes of the time when nobody followed the feed", async () => {
    for (let i = 0; i < 10; i++) await publish(activeLink(`link-${i}`, 1));
    await publishHeartbeat({ complete: true, epoch: 1, version: 2 });
    const dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
    {
      await using store = follow({ dir });
      await eventually(async () => expect(store.feed().complete).toBe(true), WITHIN_MS);
    }
    for (let i = 0; i < 10; i += 2) await publish(activeLink(`link-${i}`, 3));
    {
      await using store = follow({ dir });
      // It has every link from the start: only their changes are to come.
      expect(store.feed().complete).toBe(true);
      await eventually(async () => expect(store.find("link-8")?.version).toBe(3), WITHIN_MS);
      const versions = Array.from({ length: 10 }, (_, i) => store.find(`link-${i}`)?.version);
      expect(versions).toEqual([3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
    }
    rmSync(dir, { recursive: true });
  });
});

function fail(): never {
  throw new Error("database or disk is full");
}

describe("a store", () => {
  test("is complete once it has all of a stream that says so, and not before", async () => {
    await publish(activeLink("known", 3));
    await using store = follow();
    await eventually(async () => expect(store.find("known")).toBeDefined(), WITHIN_MS);
    // Nobody has said that this is all: the stream may just have been created.
    expect(store.feed().complete).toBe(false);
    await publishHeartbeat({ complete: false, epoch: 1, version: 4 });
    await eventually(async () => expect(store.feed().sequence).toBe(2), WITHIN_MS);
    expect(store.feed().complete).toBe(false);
    await publishHeartbeat({ complete: true, epoch: 5, version: 6 });
    await eventually(async () => expect(store.feed().complete).toBe(true), WITHIN_MS);
    // As API processes of earlier versions publish it.
    await client.publish(HEARTBEAT_SUBJECT, "{}");
    await eventually(async () => expect(store.feed().sequence).toBe(4), WITHIN_MS);
    expect(store.feed().complete).toBe(true);
  });

  test("keeps what it has when the stream comes back empty, and drops what a complete one lacks", async () => {
    await publish(takedownNotice(9, { accounts: [], hosts: ["evil.example"] }));
    for (const alias of ["kept", "gone", "changed"]) await publish(activeLink(alias, 10));
    await publishHeartbeat({ complete: true, epoch: 1, version: 12 });
    await using store = follow();
    await eventually(async () => expect(store.feed().complete).toBe(true), WITHIN_MS);
    await createStream();
    await eventually(async () => expect(store.feed().complete).toBe(false), WITHIN_MS);
    await publishHeartbeat({ complete: false, epoch: 1, version: 13 });
    await publish(activeLink("kept", 21));
    await publish(activeLink("changed", 22));
    await eventually(async () => expect(store.find("changed")?.version).toBe(22), WITHIN_MS);
    expect(store.find("gone")?.version).toBe(10);
    await publishHeartbeat({ complete: true, epoch: 20, version: 23 });
    await eventually(async () => expect(store.feed().epoch).toBe(20), WITHIN_MS);
    expect(["kept", "gone", "changed"].map((alias) => store.find(alias)?.version)).toEqual([
      21,
      undefined,
      22,
    ]);
    // A feed that has no list any more does not lift takedowns.
    expect(store.find("@takedowns")).toBeDefined();
    expect(store.feed().complete).toBe(true);
  });

  test("is read again from the beginning of a stream that was rolled back", async () => {
    for (let i = 0; i < 5; i++) await publish(activeLink(`link-${i}`, 1));
    await publishHeartbeat({ complete: true, epoch: 1, version: 2 });
    const { created } = await manager.streams.info(LINKS_STREAM);
    // It is ahead of the stream, and has an older version of a link.
    const ahead = { ...EMPTY_FEED, stream: created, sequence: 100, complete: true };
    const dir = storeAt(ahead, [activeLink("link-2", 0)]);
    await using store = follow({ dir });
    await eventually(async () => expect(store.find("link-2")?.version).toBe(1), WITHIN_MS);
    await eventually(async () => {
      const { sequence, complete } = store.feed();
      expect([sequence, complete]).toEqual([6, true]);
    }, WITHIN_MS);
    rmSync(dir, { recursive: true });
  });

  test("that was away while the stream was rolled back and filled again has all that was published meanwhile", async () => {
    for (const alias of ["early", "late"]) await publish(activeLink(alias, 20));
    await publishHeartbeat({ complete: true, epoch: 20, version: 21 });
    const { created } = await manager.streams.info(LINKS_STREAM);
    // Of the stream as it was before: its position comes again, in the midst of what was published
    // since.
    const before = { ...EMPTY_FEED, stream: created, sequence: 2, ...filled(3) };
    const old = ["early", "late", "deleted"].map((alias) => activeLink(alias, 5));
    const dir = storeAt(before, old);
    await using store = follow({ dir, overlapMessages: 0 });
    await eventually(async () => expect(store.feed().epoch).toBe(20), WITHIN_MS);
    const versions = ["early", "late", "deleted"].map((alias) => store.find(alias)?.version);
    expect(versions).toEqual([20, 20, undefined]);
    rmSync(dir, { recursive: true });
  });

  test("that gets no consumer has changes one by one, and its position does not count them", async () => {
    const { config } = await manager.streams.info(LINKS_STREAM);
    await manager.streams.delete(LINKS_STREAM);
    const { created } = await manager.streams.add({ ...config, max_consumers: 1 });
    const { name } = await manager.consumers.add(LINKS_STREAM, { mem_storage: true });
    await publish(activeLink("first", 1));
    const position = { ...EMPTY_FEED, stream: created, sequence: 1, ...filled(1) };
    const dir = storeAt(position);
    await using store = follow({ dir });
    await publish(activeLink("second", 2));
    await publishHeartbeat({ complete: true, epoch: 1, version: 3 });
    await eventually(async () => expect(store.find("second")?.version).toBe(2), WITHIN_MS);
    await eventually(async () => expect(store.feed().confirmed_at).not.toBe(0), WITHIN_MS);
    expect(store.feed().sequence).toBe(1);
    await manager.consumers.delete(LINKS_STREAM, name);
    await eventually(async () => expect(store.feed().sequence).toBe(3), WITHIN_MS);
    rmSync(dir, { recursive: true });
  });

  longTest(
    "that lacks links reads the stream again, and says how many if they are not there",
    async () => {
      for (const alias of ["kept", "lost"]) await publish(activeLink(alias, 5));
      await publish({ state: "deleted", version: 6, domain: "", alias: "deleted" });
      const heartbeat = { complete: true, epoch: 1, version: 7 };
      await publishHeartbeat(heartbeat);
      const { created } = await manager.streams.info(LINKS_STREAM);
      // As if a fault had removed one.
      const position = { ...EMPTY_FEED, stream: created, sequence: 4, ...filled(1) };
      const dir = storeAt(position, [activeLink("kept", 5)]);
      await using store = follow({ dir, overlapMessages: 0 });
      /** As an API says again and again how many links there are, until something is so. */
      const count = (links: number, check: () => void) =>
        eventually(async () => {
          await publishHeartbeat({ ...heartbeat, links });
          check();
        }, WITHIN_MS);
      await count(2, () => expect(store.find("lost")?.version).toBe(5));
      await count(2, () => expect(store.feed()).toMatchObject({ complete: true, lacks: 0 }));
      // What the stream lacks as well is not looked for again and again.
      await count(5, () => expect(store.feed()).toMatchObject({ complete: true, lacks: 3 }));
      await count(2, () => expect(store.feed()).toMatchObject({ complete: true, lacks: 0 }));
      rmSync(dir, { recursive: true });
    },
  );

  test("that cannot be written ends its follower, and the position stays behind what is written", async () => {
    await publish(activeLink("a", 1));
    let isFull = true;
    await using store = follow({
      wrap: (writer) => ({
        ...writer,
        write: (...args) => (isFull && args[0].length > 0 ? fail() : writer.write(...args)),
      }),
    });
    expect(await store.ended.catch((error: unknown) => error)).toBeInstanceOf(StoreError);
    expect(store.feed().sequence).toBe(0);
    isFull = false;
    await using again = follow({ dir: store.dir });
    await eventually(async () => expect(again.find("a")?.version).toBe(1), WITHIN_MS);
  });
});

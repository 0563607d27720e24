/**
 * Goal: a store that follows several streams has the links of each, removes only those that their
 * own stream does not have any more, and reads all streams again when links are missing. Method: a
 * real NATS server.
 */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JetStreamManager, NatsConnection } from "nats";

import { domainNotice, encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, type LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  isInStream,
  type LinksStream,
  linksStreams,
} from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  heartbeatSubject,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { type ImagesPlace, openImages, toPosition } from "../../shared/links-store/images.ts";
import { EMPTY_FEED, SCHEMA, setFeed, toChange } from "../../shared/links-store/schema.ts";
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { createFeedGroup } from "./feed-group.ts";
import { createFeedRecords } from "./feed-records.ts";
import { startFollower } from "./follower.ts";
import { combineFeeds } from "./host-feed.ts";
import { startLinksThread } from "./links-thread.ts";
import { openReader } from "./store-reader.ts";
import { openWriter } from "./store-writer.ts";

setDefaultTimeout(120_000);

const WITHIN_MS = 30_000;
const LINKS = 200;

/** Between two counts: in the second that a pull takes, the store is compared with the last one. */
const COUNT_MS = 200;

const streams = linksStreams(4);
const aliases = Array.from({ length: LINKS }, (_, i) => `link-${i}`);
const log = createLog("test", "silent");

let server: TestNats;
let connection: NatsConnection;
let manager: JetStreamManager;
let dir: string;
beforeAll(async () => {
  server = await startNats();
  connection = await server.connect();
  manager = await connection.jetstreamManager();
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  for (const stream of streams) {
    await manager.streams.delete(stream.name).catch(() => undefined);
    await ensureLinksStream(manager, 1, stream);
  }
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
});

async function publish(record: LinkRecord): Promise<void> {
  const { domain, alias } = record;
  for (const stream of streams)
    if (isInStream(stream, record))
      await connection
        .jetstream()
        .publish(linkSubject({ domain, alias }, stream), encodeLinkRecord(record));
}

/**
 * Says in a stream, or in all of them, that it has every link; the first one says how many there
 * are.
 */
async function publishHeartbeats(epoch: number, links?: number, of = streams): Promise<void> {
  for (const stream of of) {
    const counted = stream.index === 0 && links !== undefined ? { links } : {};
    const heartbeat = { complete: true, epoch, version: epoch, ...counted };
    await connection.jetstream().publish(heartbeatSubject(stream), encodeHeartbeat(heartbeat));
  }
}

/** Follows all streams into a store, each exactly from its position. */
function follow() {
  const nats = openNats({ url: server.url, name: "redirector", log });
  const store = openWriter(dir, { reserveBytes: 0 });
  const reader = openReader(dir);
  const records = createFeedRecords(log);
  const group = createFeedGroup({ store, streams, log });
  const followers = streams.map((stream) =>
    startFollower({
      nats,
      stream,
      group,
      streamReplicas: 1,
      store,
      records,
      log,
      overlapMessages: 0,
    }),
  );
  return {
    feed: () => combineFeeds(streams, reader.feed),
    feedOf: (name: string) => reader.feed(name),
    find: (alias: string, domain = "") => reader.find(domain, alias),
    links: store.links,
    async [Symbol.asyncDispose]() {
      await Promise.all(followers.map((follower) => follower.stop()));
      store.close();
      reader.close();
      await nats.close();
      rmSync(dir, { recursive: true });
    },
  };
}

test("a store is complete once it has all of each stream, and keeps a position in each", async () => {
  for (const alias of aliases) await publish(activeLink(alias, 5));
  await publishHeartbeats(1, undefined, streams.slice(1));
  await using store = follow();
  await eventually(async () => expect(store.links()).toBe(LINKS), WITHIN_MS);
  await eventually(async () => expect(store.feedOf("LINKS_4_3").complete).toBe(true), WITHIN_MS);
  expect(store.feed().complete).toBe(false);
  await publishHeartbeats(1, undefined, streams.slice(0, 1));
  await eventually(async () => expect(store.feed().complete).toBe(true), WITHIN_MS);
  for (const { name } of streams) {
    const { created, state } = await manager.streams.info(name);
    expect(store.feedOf(name)).toMatchObject({ stream: created, sequence: state.last_seq });
  }
});

longTest("a stream that was filled again removes its own old links, and no other's", async () => {
  for (const alias of aliases) await publish(activeLink(alias, 5));
  await publish(domainNotice(6, "kept.example.com", { fold: "all" }));
  await publishHeartbeats(1);
  await using store = follow();
  await eventually(async () => expect(store.feed().complete).toBe(true), WITHIN_MS);
  const [, stream] = streams;
  if (stream === undefined) throw new Error("There is no second stream.");
  const own = aliases.filter((alias) => isInStream(stream, { domain: "", alias }));
  const [kept = "", ...gone] = own;
  await manager.streams.delete(stream.name);
  await ensureLinksStream(manager, 1, stream);
  await publish(activeLink(kept, 20));
  await publish(domainNotice(21, "kept.example.com", { fold: "all" }));
  await publishHeartbeats(20, undefined, [stream]);
  await eventually(async () => expect(store.feedOf(stream.name).epoch).toBe(20), WITHIN_MS);
  expect(store.links()).toBe(LINKS - gone.length);
  for (const alias of gone) expect(store.find(alias)).toBeUndefined();
  expect(store.find(kept)?.version).toBe(20);
  expect(store.find("@domain", "kept.example.com")?.version).toBe(21);
  expect(store.feed().complete).toBe(true);
});

longTest("a store that lacks links of whichever stream reads all streams again", async () => {
  for (const alias of aliases) await publish(activeLink(alias, 5));
  await publishHeartbeats(1);
  {
    // As if a fault had removed them: the positions are behind them, and they are not there.
    const store = openWriter(dir, { reserveBytes: 0 });
    for (const { name } of streams) {
      const { created, state } = await manager.streams.info(name);
      const announced = { complete: true, epoch: 1 };
      const position = { stream: created, sequence: state.last_seq, ...announced, announced };
      store.write([], { ...store.feed(name), ...position }, name);
    }
    store.close();
  }
  await using store = follow();
  /** As an API says again and again how many links there are, until something is so. */
  const count = (links: number, check: () => Promise<void>) =>
    eventually(async () => {
      await publishHeartbeats(1, links);
      await eventually(check, COUNT_MS);
    }, WITHIN_MS);
  await count(LINKS, async () => {
    expect(store.links()).toBe(LINKS);
    expect(store.feed()).toMatchObject({ complete: true, lacks: 0 });
  });
  await count(LINKS + 3, async () =>
    expect(store.feed()).toMatchObject({ complete: true, lacks: 3 }),
  );
});

test("a store begins with an image that has a position in each stream, and with none of another number of streams", async () => {
  const place = { LINKS_IMAGES: join(dir, "images") };
  for (const alias of aliases) await publish(activeLink(alias, 5));
  await publishHeartbeats(5);
  await addImage(place, "whole", streams);
  for (const alias of aliases) await publish(activeLink(alias, 7));
  // Newer, and of no use here.
  await addImage(place, "undivided", linksStreams(1));
  const thread = startLinksThread({
    workerUrl: new URL("./links.worker.ts", import.meta.url),
    dir,
    natsUrl: server.url,
    streamReplicas: 1,
    streams,
    logLevel: "silent",
    images: place,
    onChanged: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  await eventually(() => {
    const reader = openReader(dir);
    try {
      for (const alias of aliases) expect(reader.find("", alias)?.version).toBe(7);
      // Only the image has it.
      expect(reader.find("", "whole")).toBeDefined();
      expect(reader.find("", "undivided")).toBeUndefined();
      expect(combineFeeds(streams, reader.feed)).toMatchObject({ complete: true, epoch: 5 });
      return Promise.resolve();
    } finally {
      reader.close();
    }
  }, WITHIN_MS);
  await thread.stop();
  rmSync(dir, { recursive: true });
});

/** Stores an image of the feed as it is, which has one link that the feed does not have. */
async function addImage(
  place: ImagesPlace,
  alias: string,
  of: readonly LinksStream[],
): Promise<void> {
  const path = join(dir, "image");
  const link = activeLink(alias, 5);
  const { key, version, row } = toChange(link, encodeLinkRecord(link));
  const positions = [];
  {
    using db = new Database(path, { create: true, readwrite: true, strict: true });
    db.run(SCHEMA);
    db.run("INSERT INTO links (key, version, record) VALUES (?, ?, ?)", [key, version, row]);
    for (const { name } of of) {
      const found = await manager.streams.info(name).catch(() => undefined);
      const position = { epoch: 5, sequence: found?.state.last_seq ?? 0 };
      const announced = { complete: true, epoch: position.epoch };
      setFeed(db, { ...EMPTY_FEED, ...position, ...announced, announced }, 1, name);
      positions.push(position);
    }
  }
  const position = toPosition(positions);
  if (position !== undefined) await openImages(place)?.add(path, position);
  rmSync(path);
}

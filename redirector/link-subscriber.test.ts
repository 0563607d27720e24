/**
 * Goal: whatever position a redirector resumes from, it has every change, and what it answers for links that it does not
 * have is right, also while the stream is empty or lacks links. Method: a real NATS server.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import type { JetStreamClient, JetStreamManager, NatsConnection } from "nats";

import { encodeHeartbeat, type Heartbeat } from "../shared/contracts/feed-notices.ts";
import { encodeLinkRecord, type LinkRecord } from "../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../shared/contracts/streams.ts";
import { createLog } from "../shared/log.ts";
import { type Nats, openNats } from "../shared/nats.ts";
import { eventually } from "../test/harness/eventually.ts";
import { activeLink } from "../test/harness/link-record.ts";
import { startNats, type TestNats } from "../test/harness/nats.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createDomainAnswers } from "./domain-settings.ts";
import type { Cursor } from "./feed-position.ts";
import { startLinkSubscriber } from "./link-subscriber.ts";
import { createTakedowns } from "./takedowns.ts";

setDefaultTimeout(60_000);

const WITHIN_MS = 5_000;

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

const publish = (record: LinkRecord) =>
  client.publish(linkSubject(record.domain, record.alias), encodeLinkRecord(record));
const publishHeartbeat = (heartbeat: Heartbeat) =>
  client.publish(HEARTBEAT_SUBJECT, encodeHeartbeat(heartbeat));

async function createStream(): Promise<void> {
  await manager.streams.delete(LINKS_STREAM).catch(() => undefined);
  await ensureLinksStream(manager, 1);
}

type Options = { cursor?: Cursor; epoch?: number; overlapMessages?: number; pullBatch?: number };

/** Starts a subscriber with a cache of its own. */
function subscribe({ cursor, epoch, overlapMessages, pullBatch }: Options = {}) {
  const log = createLog("test", "silent");
  const nats: Nats = openNats({ url: server.url, name: "redirector", log });
  const cache = createLinkCache(16 * 1024 ** 2);
  const feed = startLinkSubscriber({
    nats,
    streamReplicas: 1,
    cache,
    takedowns: createTakedowns(),
    domains: createDomainAnswers(),
    initialCursor: cursor,
    initialEpoch: epoch,
    log,
    ...(overlapMessages === undefined ? {} : { overlapMessages }),
    ...(pullBatch === undefined ? {} : { pullBatch }),
  });
  return {
    cache,
    feed,
    versionOf: (alias: string) =>
      [...cache.records()].find((record) => record.alias === alias)?.version,
    async [Symbol.asyncDispose]() {
      feed.stop();
      await nats.close();
    },
  };
}

const countConsumers = async () => (await manager.streams.info(LINKS_STREAM)).state.consumer_count;

describe("a subscriber that resumes", () => {
  /** Messages before the cursor and after it. */
  const BEFORE = 3_100;
  const AFTER = 4;

  /** A stream of which every sequence exists, or only every second one. */
  async function fill(gaps: boolean): Promise<Cursor> {
    await createStream();
    const publications = [];
    for (let i = 0; i < BEFORE; i++) {
      if (gaps) publications.push(publish(activeLink("replaced", i + 1)));
      publications.push(publish(activeLink(`link-${i}`, 1)));
    }
    await Promise.all(publications);
    const { created, state } = await manager.streams.info(LINKS_STREAM);
    for (let i = 0; i < AFTER; i++) await publish(activeLink(`link-${i}`, 2));
    return { stream: created, sequence: state.last_seq };
  }

  test.each([
    ["without gaps", false],
    ["with gaps", true],
  ])(
    "takes over what changed, whatever the overlap and the size of a pull, with one consumer, in a stream %s",
    async (_name, gaps) => {
      const cursor = await fill(gaps);
      for (const overlapMessages of [0, 1, 499, 500, 501, 999, 1_000, 1_001, 1_500, 3_000]) {
        for (const pullBatch of [1, 499, 500, 501]) {
          // One message at a time takes long.
          if (pullBatch === 1 && overlapMessages > 1) continue;
          const before = await countConsumers();
          await using subscriber = subscribe({ cursor, overlapMessages, pullBatch });
          await eventually(async () => {
            expect([overlapMessages, pullBatch, subscriber.feed.state()]).toEqual([
              overlapMessages,
              pullBatch,
              "ok",
            ]);
          }, WITHIN_MS);
          for (let i = 0; i < AFTER; i++) expect(subscriber.versionOf(`link-${i}`)).toBe(2);
          expect(await countConsumers()).toBe(before + 1);
        }
      }
    },
  );
});

describe("a link that is not cached", () => {
  test("may exist while the stream is empty or lacks links, and does not once the stream is complete", async () => {
    await createStream();
    await using subscriber = subscribe();
    const { feed } = subscriber;
    await eventually(async () => expect(feed.state()).toBe("ok"), WITHIN_MS);
    // Nobody has published anything: the stream may just have been created.
    expect(feed.fetch("", "unknown")).rejects.toThrow("lacks links");
    await publishHeartbeat({ complete: false, epoch: 1, version: 1 });
    expect(feed.fetch("", "unknown")).rejects.toThrow("lacks links");
    expect(feed.fetchDomain("go.example.com")).rejects.toThrow("lacks links");
    await eventually(async () => expect(feed.complete()).toBe(false), WITHIN_MS);
    await publish(activeLink("known", 3));
    await publishHeartbeat({ complete: true, epoch: 2, version: 4 });
    expect(await feed.fetch("", "unknown")).toBeUndefined();
    expect(await feed.fetchDomain("go.example.com")).toBe(false);
    expect(await feed.fetch("", "known")).toMatchObject({ version: 3 });
    await eventually(async () => expect(feed.complete()).toBe(true), WITHIN_MS);
    // As API processes of earlier versions publish it.
    await client.publish(HEARTBEAT_SUBJECT, "{}");
    expect(await feed.fetch("", "unknown")).toBeUndefined();
  });
});

describe("cached links", () => {
  test("outlive a stream that comes back empty, and go when a complete stream does not have them", async () => {
    await createStream();
    await publish(activeLink("kept", 10));
    await publish(activeLink("gone", 11));
    await publishHeartbeat({ complete: true, epoch: 1, version: 12 });
    await using subscriber = subscribe({ epoch: 1 });
    const { feed, versionOf } = subscriber;
    await eventually(async () => expect(feed.state()).toBe("ok"), WITHIN_MS);
    for (const alias of ["kept", "gone"]) await feed.fetch("", alias);
    await createStream();
    await eventually(async () => expect(feed.epoch()).toBeUndefined(), WITHIN_MS);
    await publishHeartbeat({ complete: false, epoch: 1, version: 13 });
    await eventually(async () => expect(feed.complete()).toBe(false), WITHIN_MS);
    await publish(activeLink("kept", 21));
    expect([versionOf("kept"), versionOf("gone")].map(Boolean)).toEqual([true, true]);
    await publishHeartbeat({ complete: true, epoch: 20, version: 22 });
    await eventually(async () => expect(feed.epoch()).toBe(20), WITHIN_MS);
    expect([versionOf("kept"), versionOf("gone")]).toEqual([21, undefined]);
  });
});

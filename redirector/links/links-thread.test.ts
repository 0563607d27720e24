/**
 * Goal: of the redirectors of a host one fills the store, another goes on when it ends, and a
 * damaged store does not stop them. Method: real threads and a real NATS server. Full disks are in
 * test/scenarios/links-disk.test.ts.
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
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { NatsConnection } from "nats";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { type ImagesPlace, openImages } from "../../shared/links-store/images.ts";
import { EMPTY_FEED, SCHEMA, setFeed, toChange } from "../../shared/links-store/schema.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { type LinksThread, startLinksThread } from "./links-thread.ts";
import { findStore, markDamaged, memoryDir, storePath } from "./store-files.ts";
import { openReader } from "./store-reader.ts";
import { openWriter } from "./store-writer.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 60_000;

let server: TestNats;
let connection: NatsConnection;
beforeAll(async () => {
  server = await startNats();
  connection = await server.connect();
  await ensureLinksStream(await connection.jetstreamManager(), 1);
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});

let dir: string;
let threads: LinksThread[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  threads = [];
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.stop()));
  rmSync(memoryDir(dir), { recursive: true, force: true });
  rmSync(dir, { recursive: true });
});

function start(folder = dir, images: ImagesPlace = {}): LinksThread {
  const thread = startLinksThread({
    workerUrl: new URL("./links.worker.ts", import.meta.url),
    dir: folder,
    natsUrl: server.url,
    streamReplicas: 1,
    streams: [UNDIVIDED],
    logLevel: "silent",
    images,
    onChanged: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  threads.push(thread);
  return thread;
}

const publish = (alias: string, version: number) =>
  connection
    .jetstream()
    .publish(linkSubject({ domain: "", alias }), encodeLinkRecord(activeLink(alias, version)));

/** The version that the store of a folder has of a link. */
function versionOf(alias: string, folder = dir): number | undefined {
  const found = findStore(folder);
  if (found === undefined) return undefined;
  const reader = openReader(found.dir);
  try {
    return reader.find("", alias)?.version;
  } finally {
    reader.close();
  }
}

const expectVersion = (alias: string, version: number, folder = dir) =>
  eventually(async () => expect(versionOf(alias, folder)).toBe(version), WITHIN_MS);

test("another process fills the store when the one that did has ended", async () => {
  await publish("handed-over", 1);
  const first = start();
  await expectVersion("handed-over", 1);
  start();
  await publish("handed-over", 2);
  await expectVersion("handed-over", 2);
  await first.stop();
  await publish("handed-over", 3);
  await expectVersion("handed-over", 3);
});

test("a store that somebody found damaged is set aside, and filled again", async () => {
  await publish("damaged", 1);
  start();
  await expectVersion("damaged", 1);
  const db = new Database(storePath(dir));
  db.run("UPDATE links SET record = x'00', version = 9e15");
  db.close();
  markDamaged(dir);
  await expectVersion("damaged", 1);
  expect(existsSync(`${storePath(dir)}.damaged`)).toBe(true);
});

test("a store that somebody deleted is filled again", async () => {
  await publish("deleted", 1);
  start();
  await expectVersion("deleted", 1);
  const before = findStore(dir)?.inode;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${storePath(dir)}${suffix}`);
  await eventually(async () => {
    expect(findStore(dir)?.inode).toBeNumber();
    expect(findStore(dir)?.inode).not.toBe(before);
  }, WITHIN_MS);
  await expectVersion("deleted", 1);
});

test("a file that is no store is set aside, and another one filled", async () => {
  await publish("no-store", 1);
  writeFileSync(storePath(dir), "not a database, but long enough to be looked at ".repeat(100));
  start();
  await eventually(async () => expect(versionOf("no-store")).toBe(1), WITHIN_MS);
});

describe("an image", () => {
  const EPOCH = 1_000;
  let place: ImagesPlace & { LINKS_IMAGES: string };
  beforeEach(() => void (place = { LINKS_IMAGES: join(dir, "images") }));

  /**
   * Stores an image with one link, which the feed does not have, at the end of the feed or behind
   * it.
   */
  async function addImage({ epoch = EPOCH, ahead = 0, alias = "imaged" } = {}): Promise<void> {
    const { state } = await (await connection.jetstreamManager()).streams.info(LINKS_STREAM);
    const sequence = state.last_seq + ahead;
    const path = join(dir, "image");
    {
      using db = new Database(path, { create: true, strict: true });
      db.run(SCHEMA);
      const link = activeLink(alias, EPOCH);
      const { key, version, row } = toChange(link, encodeLinkRecord(link));
      db.run("INSERT INTO links (key, version, record) VALUES (?, ?, ?)", [key, version, row]);
      const announced = { complete: true, epoch };
      setFeed(db, { ...EMPTY_FEED, ...announced, sequence, announced }, 1);
    }
    await openImages(place)?.add(path, { epoch, sequence });
    rmSync(path);
  }

  const publishHeartbeat = (complete: boolean) =>
    connection
      .jetstream()
      .publish(HEARTBEAT_SUBJECT, encodeHeartbeat({ complete, epoch: EPOCH, version: EPOCH }));

  test("is what a store begins with, and all that was published since follows", async () => {
    await publish("before", EPOCH);
    await publishHeartbeat(true);
    await addImage();
    await publish("since", EPOCH + 1);
    start(dir, place);
    await expectVersion("since", EPOCH + 1);
    await expectVersion("imaged", EPOCH);
    const reader = openReader(dir);
    expect(reader.feed()).toMatchObject({ complete: true, epoch: EPOCH });
    reader.close();
  });

  test("is not mixed with the log of the store before it", async () => {
    await publishHeartbeat(true);
    const old = openWriter(dir);
    old.write([toChange(activeLink("old", 1), encodeLinkRecord(activeLink("old", 1)))], EMPTY_FEED);
    const log = readFileSync(`${storePath(dir)}-wal`);
    old.close();
    rmSync(storePath(dir));
    writeFileSync(`${storePath(dir)}-wal`, log);
    await addImage();
    start(dir, place);
    await expectVersion("imaged", EPOCH);
    expect(versionOf("old")).toBeUndefined();
  });

  test.each([
    ["of another epoch of the feed", () => addImage({ epoch: EPOCH - 1 })],
    ["from behind the end of the feed", () => addImage({ ahead: 1_000 })],
    [
      "that is damaged",
      async () => {
        await addImage();
        const [name = ""] = readdirSync(place.LINKS_IMAGES);
        truncateSync(join(place.LINKS_IMAGES, name), 100);
      },
    ],
    [
      "of a time when the stream lacked links",
      async () => {
        await addImage();
        await publishHeartbeat(false);
      },
    ],
  ])("%s is left alone, and the feed is read from its beginning", async (_name, add) => {
    await publish("fed", EPOCH);
    await publishHeartbeat(true);
    await add();
    start(dir, place);
    await expectVersion("fed", EPOCH);
    expect(versionOf("imaged")).toBeUndefined();
    expect(readdirSync(dir).filter((name) => name.endsWith(".image"))).toEqual([]);
  });

  test("is not looked for by a host that has a store", async () => {
    await publishHeartbeat(true);
    start(dir, place);
    await publish("own", EPOCH);
    await expectVersion("own", EPOCH);
    await Promise.all(threads.splice(0).map((thread) => thread.stop()));
    await addImage();
    start(dir, place);
    await publish("own", EPOCH + 1);
    await expectVersion("own", EPOCH + 1);
    expect(versionOf("imaged")).toBeUndefined();
  });
});

import { Database } from "bun:sqlite";
/**
 * Goal: of the redirectors of a host one fills the store, another goes on when it ends, and neither a damaged store nor a
 * full disk stops them. Method: real threads, a real NATS server, and small disks where they can be mounted.
 */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { NatsConnection } from "nats";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { canMountDisks, mountDisk, unmountDisk } from "../../test/harness/small-disk.ts";
import { type LinksThread, startLinksThread } from "./links-thread.ts";
import { findStore, markDamaged, memoryDir, openReader, storePath } from "./store.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 60_000;

/** Links that fit no disk of the size below. */
const MANY_LINKS = 20_000;

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

function start(folder = dir): LinksThread {
  const thread = startLinksThread({
    workerUrl: new URL("./links.worker.ts", import.meta.url),
    dir: folder,
    natsUrl: server.url,
    streamReplicas: 1,
    logLevel: "silent",
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
    .publish(linkSubject("", alias), encodeLinkRecord(activeLink(alias, version)));

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
  const second = start();
  await second.prefetch("", "handed-over");
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

test.skipIf(!canMountDisks)("without any room on the disk, the store is in memory", async () => {
  await publish("in-memory", 1);
  const disk = join(dir, "disk");
  mkdirSync(disk);
  mountDisk(disk, "64k");
  try {
    writeFileSync(join(disk, "other"), Buffer.alloc(60 * 1024));
    const thread = start(disk);
    await expectVersion("in-memory", 1, disk);
    await thread.prefetch("", "in-memory");
    await thread.stop();
  } finally {
    unmountDisk(disk);
    rmSync(memoryDir(disk), { recursive: true, force: true });
  }
});

test.skipIf(!canMountDisks)("on a disk that gets full, changes go on in the reserve", async () => {
  const disk = join(dir, "disk");
  mkdirSync(disk);
  mountDisk(disk, "600m");
  try {
    await publish("reserve", 1);
    const heartbeat = encodeHeartbeat({ complete: true, epoch: 0, version: 1 });
    await connection.jetstream().publish(HEARTBEAT_SUBJECT, heartbeat);
    const thread = start(disk);
    await expectVersion("reserve", 1, disk);
    expect(existsSync(`${storePath(disk)}.reserve`)).toBe(true);
    // All that is left.
    const { exitCode } = Bun.spawnSync([
      "dd",
      "if=/dev/zero",
      `of=${join(disk, "other")}`,
      "bs=64k",
    ]);
    expect(exitCode).not.toBe(0);
    for (let i = 0; i < MANY_LINKS; i += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, j) => publish(`many-${i + j}`, 1)));
    await publish("reserve", 2);
    await expectVersion("reserve", 2, disk);
    expect(versionOf(`many-${MANY_LINKS - 1}`, disk)).toBe(1);
    expect(existsSync(`${storePath(disk)}.reserve`)).toBe(false);
    await thread.stop();
  } finally {
    unmountDisk(disk);
  }
});

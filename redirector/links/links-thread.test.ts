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
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { NatsConnection } from "nats";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { ensureLinkLogStream, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/link-record.ts";
import { startNats, type TestNats } from "../../test/harness/nats.ts";
import { publishEntries, TestLog } from "../../test/harness/test-log.ts";
import { type LinksThread, startLinksThread } from "./links-thread.ts";
import {
  currentFolder,
  findStore,
  inodeOf,
  markDamaged,
  memoryDir,
  storePath,
} from "./store-files.ts";
import { StoreReader } from "./store-reader.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 60_000;

let server: TestNats;
let connection: NatsConnection;
beforeAll(async () => {
  server = await startNats();
  connection = await server.connect();
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});

let dir: string;
let threads: LinksThread[];
let written: TestLog;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  threads = [];
  written = new TestLog();
  const manager = await connection.jetstreamManager();
  await manager.streams.delete(LINK_LOG_STREAM).catch(() => undefined);
  await ensureLinkLogStream(manager, 1);
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.stop()));
  rmSync(memoryDir(dir), { recursive: true, force: true });
  rmSync(dir, { recursive: true });
});

function start(): LinksThread {
  const thread = startLinksThread({
    workerUrl: new URL("./links.worker.ts", import.meta.url),
    dir,
    natsUrl: server.url,
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
  publishEntries(connection, [written.add([encodeLinkRecord(activeLink(alias, version))])]);

/** The version that the store of the host has of a link. */
function versionOf(alias: string): number | undefined {
  const found = findStore(dir);
  if (found === undefined) return undefined;
  using reader = new StoreReader(found.dir);
  return reader.find("", alias)?.version;
}

const expectVersion = (alias: string, version: number) =>
  eventually(async () => expect(versionOf(alias)).toBe(version), WITHIN_MS);

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
  {
    using db = new Database(storePath(currentFolder(dir)));
    db.run("UPDATE links SET record = x'00'");
  }
  markDamaged(dir);
  await expectVersion("damaged", 1);
  expect(existsSync(`${storePath(dir)}.damaged`)).toBe(true);
});

test("a store that somebody deleted is filled again", async () => {
  await publish("deleted", 1);
  start();
  await expectVersion("deleted", 1);
  const folder = currentFolder(dir);
  const before = inodeOf(folder);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${storePath(folder)}${suffix}`);
  await eventually(async () => {
    expect(inodeOf(folder)).toBeNumber();
    expect(inodeOf(folder)).not.toBe(before);
  }, WITHIN_MS);
  await expectVersion("deleted", 1);
});

test("a file that is no store is set aside, and another one filled", async () => {
  await publish("no-store", 1);
  const folder = currentFolder(dir);
  mkdirSync(folder);
  writeFileSync(storePath(folder), "not a database, but long enough to be looked at ".repeat(100));
  start();
  await eventually(async () => expect(versionOf("no-store")).toBe(1), WITHIN_MS);
});

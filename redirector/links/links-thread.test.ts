/**
 * Goal: of the redirectors of a host one fills the store, another goes on when it ends, and a
 * damaged store does not stop them. Method: real threads and a real NATS server. Full disks are in
 * test/scenarios/links-disk.test.ts.
 */
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";

import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { redirectorConfig } from "../../test/harness/redirector-config.ts";
import { TestLog, TestTail } from "../../test/harness/test-log.ts";
import { LinksThread } from "./links-thread.ts";
import {
  currentFolder,
  findStore,
  inodeOf,
  markDamaged,
  memoryDir,
  storePath,
} from "./store-files.ts";
import { StoreReader } from "./store.ts";

setDefaultTimeout(180_000);

const WITHIN_MS = 60_000;

const tail = new TestTail();
let threads: LinksThread[];
let written: TestLog;
beforeEach(() => {
  threads = [];
  written = new TestLog();
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.stop()));
  rmSync(memoryDir(tail.dir), { recursive: true, force: true });
});

function start(): LinksThread {
  const thread = new LinksThread(
    redirectorConfig({
      LINKS_DIR: tail.dir,
      NATS_URL: tail.server.url,
      LOG_LEVEL: "fatal",
    }),
  );
  threads.push(thread);
  return thread;
}

const publish = (alias: string, version: number) =>
  tail.publish(written.add([encodeLinkRecord(activeLink(alias, version))]));

/** The version that the store of the host has of a link. */
function versionOf(alias: string): number | undefined {
  const found = findStore(tail.dir);
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
    using db = new Database(storePath(currentFolder(tail.dir)));
    db.run("UPDATE links SET record = x'00'");
  }
  markDamaged(tail.dir);
  await expectVersion("damaged", 1);
  expect(existsSync(`${storePath(tail.dir)}.damaged`)).toBe(true);
});

test("a store that somebody deleted is filled again", async () => {
  await publish("deleted", 1);
  start();
  await expectVersion("deleted", 1);
  const folder = currentFolder(tail.dir);
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
  const folder = currentFolder(tail.dir);
  mkdirSync(folder);
  writeFileSync(storePath(folder), "not a database, but long enough to be looked at ".repeat(100));
  start();
  await eventually(async () => expect(versionOf("no-store")).toBe(1), WITHIN_MS);
});

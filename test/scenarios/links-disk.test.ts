/**
 * Goal: neither a full disk nor one that refuses every write stops the thread that fills the store.
 * Method: real threads, a real NATS server, and small disks where they can be mounted.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LinksThread } from "../../redirector/links/links-thread.ts";
import {
  currentFolder,
  findStore,
  memoryDir,
  storePath,
} from "../../redirector/links/store-files.ts";
import { StoreReader } from "../../redirector/links/store.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { ensureSnapshotsStream } from "../../shared/links-log/snapshots.ts";
import { ensureLinkLogStream, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import {
  canMakeDisks,
  canMountDisks,
  mountDisk,
  moveToDisk,
  unmountDisk,
} from "../harness/disks.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { activeLink } from "../harness/links-log.ts";
import { startNats } from "../harness/nats.ts";
import { redirectorConfig } from "../harness/redirector-config.ts";
import { publishEntries, storeTestSnapshot, TestLog } from "../harness/test-log.ts";

const canMount = canMountDisks();

const WITHIN_MS = 60_000;

/** Longer than a thread takes to find that it cannot write. */
const REFUSED_MS = 3_000;

/** Links that fit no disk of the size below. */
const MANY_LINKS = 20_000;

/** Links of an entry. */
const AT_ONCE = 50;

const server = await forFile(startNats());
const connection = await forFile(server.connect(), (connection) => connection.close());

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

function start(folder: string): LinksThread {
  const thread = new LinksThread(
    redirectorConfig({
      LINKS_DIR: folder,
      NATS_URL: server.url,
      LOG_LEVEL: "fatal",
    }),
  );
  threads.push(thread);
  return thread;
}

const publish = (version: number, ...aliases: string[]) =>
  publishEntries(connection, [
    written.add(aliases.map((alias) => encodeLinkRecord(activeLink(alias, version)))),
  ]);

/** The version that the store of a folder has of a link. */
function versionOf(alias: string, folder: string): number | undefined {
  const found = findStore(folder);
  if (found === undefined) return undefined;
  const reader = new StoreReader(found.dir);
  try {
    return reader.find("", alias)?.version;
  } finally {
    reader.close();
  }
}

const hasReserve = (folder: string): boolean =>
  existsSync(`${storePath(currentFolder(folder))}.reserve`);

const expectVersion = (alias: string, version: number, folder: string) =>
  eventually(async () => expect(versionOf(alias, folder)).toBe(version), WITHIN_MS);

test.skipIf(!canMount)("without any room on the disk, the store is in memory", async () => {
  await publish(1, "in-memory");
  const disk = join(dir, "disk");
  mkdirSync(disk);
  mountDisk(disk, "64k");
  try {
    writeFileSync(join(disk, "other"), Buffer.alloc(60 * 1024));
    const thread = start(disk);
    await expectVersion("in-memory", 1, disk);
    await thread.stop();
  } finally {
    unmountDisk(disk);
    rmSync(memoryDir(disk), { recursive: true, force: true });
  }
});

test.skipIf(!canMount)("on a disk that gets full, changes go on in the reserve", async () => {
  const disk = join(dir, "disk");
  mkdirSync(disk);
  mountDisk(disk, "600m");
  try {
    await publish(1, "reserve");
    const thread = start(disk);
    await expectVersion("reserve", 1, disk);
    expect(hasReserve(disk)).toBe(true);
    // All that is left.
    const { exitCode } = Bun.spawnSync([
      "dd",
      "if=/dev/zero",
      `of=${join(disk, "other")}`,
      "bs=64k",
    ]);
    expect(exitCode).not.toBe(0);
    for (let i = 0; i < MANY_LINKS; i += AT_ONCE)
      await publish(1, ...Array.from({ length: AT_ONCE }, (_, j) => `many-${i + j}`));
    await publish(2, "reserve");
    await expectVersion("reserve", 2, disk);
    expect(versionOf(`many-${MANY_LINKS - 1}`, disk)).toBe(1);
    expect(hasReserve(disk)).toBe(false);
    await thread.stop();
  } finally {
    unmountDisk(disk);
  }
});

test.skipIf(!canMount)(
  "without room for a snapshot beside it, the store stays, has later changes, and says so",
  async () => {
    const disk = join(dir, "disk");
    mkdirSync(disk);
    mountDisk(disk, "24m");
    try {
      await publish(1, "kept");
      const thread = start(disk);
      await expectVersion("kept", 1, disk);
      writeFileSync(join(disk, "other"), Buffer.alloc(12 * 1024 * 1024));
      const manager = await connection.jetstreamManager();
      await ensureSnapshotsStream(manager, 1);
      const missing = written.add([]);
      await storeTestSnapshot(connection, written.database, { start: missing, end: missing }, [
        "a",
      ]);
      await publish(2, "later");
      await expectVersion("later", 2, disk);
      await eventually(async () => {
        using reader = new StoreReader(findStore(disk)?.dir ?? disk);
        expect(reader.state().obstacle).toContain("no room in LINKS_DIR");
      }, WITHIN_MS);
      expect(versionOf("kept", disk)).toBe(1);
      await thread.stop();
    } finally {
      unmountDisk(disk);
    }
  },
);

test.skipIf(!canMakeDisks())(
  "on a disk that refuses every write, the thread does not fail, and links stay",
  async () => {
    const folder = join(dir, "disk");
    mkdirSync(folder);
    const unmounts: (() => void)[] = [];
    const disk = moveToDisk(folder, (work) => unmounts.push(work));
    try {
      await publish(1, "refused");
      const thread = start(folder);
      await expectVersion("refused", 1, folder);
      await eventually(async () => expect(hasReserve(folder)).toBe(true), WITHIN_MS);
      disk.breakWrites();
      await publish(2, "refused");
      // An error of the thread would end the test.
      await Bun.sleep(REFUSED_MS);
      expect(versionOf("refused", folder)).toBe(1);
      await thread.stop();
    } finally {
      for (const unmount of unmounts) unmount();
    }
  },
);

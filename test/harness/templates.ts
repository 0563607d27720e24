/** Where tests keep their data, and what is made once and copied for each. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { readFreeBytes } from "../../shared/disk.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import { makeOnce } from "../../shared/process-lock.ts";

/**
 * A file system in memory: a database cluster has 1,400 files, and ext4 takes up to a second of a
 * processor to create so many where others have just been deleted.
 */
const MEMORY_DIR = "/dev/shm";

/**
 * Enough for the stacks and clusters of all files that run at once; in containers there is often
 * less.
 */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

/** Creates a folder for the data of a test, in memory where there is room. */
export const createTemporaryDir = (prefix: string): string =>
  mkdtempSync(join(hasRoom(MEMORY_DIR) ? MEMORY_DIR : tmpdir(), prefix));

const hasRoom = (dir: string): boolean => existsSync(dir) && readFreeBytes(dir) >= MEMORY_BYTES_MIN;

/**
 * For how long the templates of other states of the sources are kept: tests that began before an
 * edit still use theirs.
 */
const KEPT_MS = 2 * HOUR_MS;

/**
 * Makes the file or folder `path` unless it exists, as `makeOnce` does, and removes old ones beside
 * it.
 */
export const makeTemplate = (
  path: string,
  make: (unfinished: string) => Promise<void>,
): Promise<void> =>
  makeOnce(path, async (unfinished) => {
    const folder = dirname(path);
    for (const other of readdirSync(folder).map((name) => join(folder, name))) {
      // Another process may have just renamed what it has made.
      const { mtimeMs = Infinity } = statSync(other, { throwIfNoEntry: false }) ?? {};
      if (mtimeMs < Date.now() - KEPT_MS) rmSync(other, { recursive: true, force: true });
    }
    await make(unfinished);
  });

/** Copies a file or folder with its owners: as root, PostgreSQL's belong to another user. */
export const copyFiles = (from: string, to: string): void => void run(["cp", "-a", from, to], "/");

/** The files of the links store: their location and owner, and the handling of damaged ones. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { STORE_NAME } from "../../shared/links-store/schema.ts";
import { DamagedRecordError } from "../../shared/links-store/stored-record.ts";

export const storePath = (dir: string): string => join(dir, STORE_NAME);

/** The folder of the store while the disk is full. */
export const memoryDir = (dir: string): string =>
  join("/dev/shm", `shorthop-links-${Bun.hash(resolve(dir)).toString(36)}`);

/**
 * Finds the file of the store; undefined while there is none. A replacement file has another inode.
 * Ignores a file of another user, because all users may write to the folder in memory.
 */
export function findStore(dir: string): { dir: string; inode: number } | undefined {
  for (const folder of [dir, memoryDir(dir)]) {
    const stats = statSync(storePath(folder), { throwIfNoEntry: false });
    if (stats !== undefined && stats.uid === process.getuid?.())
      return { dir: folder, inode: stats.ino };
  }
  return undefined;
}

/** Why the store is not in its folder; undefined when it is. */
export const storeWarning = (dir: string): string | undefined =>
  findStore(dir)?.dir === memoryDir(dir)
    ? "the links store is in memory, as LINKS_DIR could not be written; a start reads all links from the feed"
    : undefined;

/** Creates a folder that only its owner may use; throws when it belongs to another user. */
export function makeFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (statSync(dir).uid !== process.getuid?.()) throw new Error(`${dir} is another user's.`);
}

/**
 * A file created by a process that found the store damaged; the process that writes the store then
 * starts a new one.
 */
export const damageMarkPath = (dir: string): string => `${storePath(dir)}.is-damaged`;

/** The suffixes of the file and of SQLite's companion files. */
const SUFFIXES = ["", "-wal", "-shm"];

/** The file of the store and SQLite's companion files. */
export const storeFiles = (dir: string): string[] =>
  SUFFIXES.map((suffix) => `${storePath(dir)}${suffix}`);

/** Keeps a damaged store for diagnosis, under another name. */
export function quarantineStore(dir: string): void {
  for (const suffix of SUFFIXES) {
    const path = `${storePath(dir)}${suffix}`;
    if (existsSync(path)) renameSync(path, `${storePath(dir)}.damaged${suffix}`);
  }
  rmSync(damageMarkPath(dir), { force: true });
}

/**
 * SQLite's result codes for a file that is not, or no longer, a valid database. SQLITE_ERROR is a
 * statement that its tables do not have the columns for: those of a file of this format do.
 */
const DAMAGED = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR"]);

/** Whether an error means that the file is damaged. */
export function isDamage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DamagedRecordError) return true;
    if ("code" in cause && typeof cause.code === "string" && DAMAGED.has(cause.code)) return true;
  }
  return false;
}

/** Reports to the process that writes the store that it is damaged. */
export function markDamaged(dir: string): void {
  try {
    writeFileSync(damageMarkPath(dir), "");
  } catch {
    // Another reader, or the writer, finds the same damage.
  }
}

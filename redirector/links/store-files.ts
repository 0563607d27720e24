/** The files of the links store: where they are, whose they are, and what becomes of damaged ones. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { STORE_NAME } from "../../shared/links-store/schema.ts";
import { DamagedRecordError } from "../../shared/links-store/stored-record.ts";

export const storePath = (dir: string): string => join(dir, STORE_NAME);

/** The folder of the store while the disk has no room for one. */
export const memoryDir = (dir: string): string =>
  join("/dev/shm", `shorthop-links-${Bun.hash(resolve(dir)).toString(36)}`);

/**
 * Finds the file of the store; undefined while there is none. A file that takes its place has another inode. One of
 * another user is none: everybody may write to the folder of what is in memory.
 */
export function findStore(dir: string): { dir: string; inode: number } | undefined {
  for (const folder of [dir, memoryDir(dir)]) {
    const stats = statSync(storePath(folder), { throwIfNoEntry: false });
    if (stats !== undefined && stats.uid === process.getuid?.())
      return { dir: folder, inode: stats.ino };
  }
  return undefined;
}

/** Why the store is not where it should be; undefined when it is. */
export const storeWarning = (dir: string): string | undefined =>
  findStore(dir)?.dir === memoryDir(dir)
    ? "the links store is in memory, as LINKS_DIR could not be written; a start reads all links from the feed"
    : undefined;

/** Makes a folder that only its owner may use; throws when it is another user's. */
export function makeFolder(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (statSync(dir).uid !== process.getuid?.()) throw new Error(`${dir} is another user's.`);
}

/** A file that a process makes which has found the store damaged; the one that writes it then starts another one. */
export const damageMarkPath = (dir: string): string => `${storePath(dir)}.is-damaged`;

/** The file and what SQLite keeps beside it. */
const SUFFIXES = ["", "-wal", "-shm"];

/** The file of the store and what SQLite keeps beside it. */
export const storeFiles = (dir: string): string[] =>
  SUFFIXES.map((suffix) => `${storePath(dir)}${suffix}`);

/** Keeps a damaged store for whoever wants to know what happened, and makes room for another one. */
export function setAside(dir: string): void {
  for (const suffix of SUFFIXES) {
    const path = `${storePath(dir)}${suffix}`;
    if (existsSync(path)) renameSync(path, `${storePath(dir)}.damaged${suffix}`);
  }
  rmSync(damageMarkPath(dir), { force: true });
}

/** SQLite's result codes for a file that is not, or no longer, what SQLite wrote. */
const DAMAGED = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB"]);

/** Whether an error says that the file is damaged. */
export function isDamage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DamagedRecordError) return true;
    if ("code" in cause && typeof cause.code === "string" && DAMAGED.has(cause.code)) return true;
  }
  return false;
}

/** Tells the process that writes the store that it is damaged. */
export function markDamaged(dir: string): void {
  try {
    writeFileSync(damageMarkPath(dir), "");
  } catch {
    // Another process that reads the store finds the same, or the one that writes it.
  }
}

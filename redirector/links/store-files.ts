/**
 * The files of the links store: their location and owner, the space that they reserve, and the
 * handling of damaged ones. Each store has a folder of its own in `LINKS_DIR`, and a file there
 * says which one is the host's: SQLite must not get another file under the name of an open one.
 * Their names begin with the format, so that versions with different ones leave each other's alone.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

import { readFreeBytes } from "../../shared/disk.ts";
import { newUuid } from "../../shared/ids.ts";
import { DamagedRecordError, STORE_FORMAT, STORE_NAME } from "../../shared/links-store/schema.ts";

export const storePath = (dir: string): string => join(dir, STORE_NAME);

/** The folder of the store while the disk is full. */
export const memoryDir = (dir: string): string =>
  join("/dev/shm", `shorthop-${STORE_FORMAT}-${Bun.hash(resolve(dir)).toString(36)}`);

const POINTER = `${STORE_FORMAT}.current`;

/** The folder of the first store; the names of later ones end with a UUID. */
const FIRST = STORE_FORMAT;

/** The folder of a store of any format. */
const FOLDER = /^(?<format>links-\d+)(?:-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/;

const isFolder = (name: string): boolean => FOLDER.exec(name)?.groups?.["format"] === STORE_FORMAT;

/** A folder for another store, in the folder of all of them. */
export const newFolder = (dir: string): string => join(dir, `${STORE_FORMAT}-${newUuid()}`);

/** The folder of the host's store, in the folder of all of them. */
export function currentFolder(dir: string): string {
  const pointer = join(dir, POINTER);
  const name = existsSync(pointer) ? readFileSync(pointer, "utf8") : FIRST;
  return join(dir, isFolder(name) ? name : FIRST);
}

/** Makes another folder the one of the host's store, also if the machine fails meanwhile. */
export function setCurrentFolder(dir: string, name: string): void {
  const pointer = join(dir, POINTER);
  writeFileSync(`${pointer}.new`, name, { flush: true });
  renameSync(`${pointer}.new`, pointer);
}

/** Removes what a process left that ended while it took a snapshot, or replaced a store. */
export function removeOtherFolders(dir: string): void {
  const current = currentFolder(dir);
  for (const name of readdirSync(dir))
    if (isFolder(name) && join(dir, name) !== current) rmSync(join(dir, name), { recursive: true });
}

/** The formats of stores that another version has left; it goes on with them when it is back. */
export const otherFormats = (dir: string): string[] => [
  ...new Set(
    readdirSync(dir)
      .map((name) => FOLDER.exec(name)?.groups?.["format"] ?? STORE_FORMAT)
      .filter((format) => format !== STORE_FORMAT),
  ),
];

/**
 * Finds the file of the store and its folder; undefined while there is none. A replacement file has
 * another inode. Ignores a file of another user, because all users may write to the folder in
 * memory.
 */
export function findStore(dir: string): { dir: string; inode: number } | undefined {
  for (const folder of [dir, memoryDir(dir)]) {
    const current = currentFolder(folder);
    const inode = inodeOf(current);
    if (inode !== undefined) return { dir: current, inode };
  }
  return undefined;
}

/** As {@link currentFolder}, or the one in memory. */
export const presentFolder = (dir: string): string => findStore(dir)?.dir ?? currentFolder(dir);

/** The inode of a folder's store, if it has one of this user. */
export function inodeOf(folder: string): number | undefined {
  const stats = statSync(storePath(folder), { throwIfNoEntry: false });
  return stats?.uid === process.getuid?.() ? stats?.ino : undefined;
}

/** Why the store is not in its folder; undefined when it is. */
export const storeWarning = (dir: string): string | undefined =>
  findStore(dir)?.dir.startsWith(`${memoryDir(dir)}/`) === true
    ? "the links store is in memory, as LINKS_DIR could not be written; a start of the machine reads all links again"
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

/** Keeps a damaged store for diagnosis, in the folder of all stores and under another name. */
export function quarantineStore(dir: string): void {
  const folder = presentFolder(dir);
  for (const suffix of SUFFIXES) {
    const path = `${storePath(folder)}${suffix}`;
    if (existsSync(path)) renameSync(path, `${storePath(dir)}.damaged${suffix}`);
  }
  rmSync(damageMarkPath(folder), { force: true });
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

/** Reports to the process that writes the host's store that it is damaged. */
export function markDamaged(dir: string): void {
  try {
    writeFileSync(damageMarkPath(presentFolder(dir)), "");
  } catch {
    // Another reader, or the writer, finds the same damage.
  }
}

const reservePath = (dir: string): string => `${storePath(dir)}.reserve`;

/**
 * A disk with less free space than this many reserves is nearly full: the store needs the space.
 */
const RESERVE_SHARE = 4;

/** Written in parts: the whole reserve at once would need as much memory. */
const RESERVE_PART = Buffer.alloc(1024 * 1024);

/**
 * Reserves disk space for changes, which {@link releaseReserve} frees; returns whether there is
 * enough.
 */
export function keepReserve(dir: string, bytes: number): boolean {
  const path = reservePath(dir);
  if (existsSync(path)) return true;
  try {
    if (readFreeBytes(dir) < RESERVE_SHARE * bytes) return false;
    for (let at = 0; at < bytes; at += RESERVE_PART.length) appendFileSync(path, RESERVE_PART);
    return true;
  } catch {
    rmSync(path, { force: true });
    return false;
  }
}

/** Frees the reserve for the store; returns whether there was one. */
export function releaseReserve(dir: string): boolean {
  const path = reservePath(dir);
  if (!existsSync(path)) return false;
  rmSync(path, { force: true });
  return true;
}

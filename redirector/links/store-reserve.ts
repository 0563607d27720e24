/** Disk space that the links store reserves for changes. */
import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";

import { readFreeBytes } from "../../shared/disk.ts";
import { storePath } from "./store-files.ts";

const reservePath = (dir: string): string => `${storePath(dir)}.reserve`;

/**
 * A disk with less free space than this many reserves is nearly full: the store needs the space.
 */
const RESERVE_SHARE = 4;

/** Written in parts: the whole reserve at once would need as much memory. */
const RESERVE_PART = Buffer.alloc(1024 * 1024);

/** Reserves disk space that {@link releaseReserve} frees; returns whether there is enough. */
export function keepReserve(dir: string, bytes: number): boolean {
  const path = reservePath(dir);
  if (existsSync(path)) return true;
  try {
    if (readFreeBytes(dir) < RESERVE_SHARE * bytes) return false;
    const file = openSync(path, "w");
    try {
      for (let at = 0; at < bytes; at += RESERVE_PART.length) writeSync(file, RESERVE_PART);
    } finally {
      closeSync(file);
    }
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

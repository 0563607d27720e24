/** Room on the disk that the links store keeps for changes. */
import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";

import { readFreeBytes } from "../../shared/disk.ts";
import { storePath } from "./store-files.ts";

const reservePath = (dir: string): string => `${storePath(dir)}.reserve`;

/** A disk with less room than so many reserves is nearly full: the room is the store's. */
const RESERVE_SHARE = 4;

/** Written at a time: the whole reserve at once would take as much memory. */
const RESERVE_PART = Buffer.alloc(1024 * 1024);

/** Takes room on the disk that {@link releaseReserve} gives back; returns whether there is such room. */
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

/** Gives the reserve to the store; returns whether there was one. */
export function releaseReserve(dir: string): boolean {
  const path = reservePath(dir);
  if (!existsSync(path)) return false;
  rmSync(path, { force: true });
  return true;
}

/** What is left of disks. */
import { statfsSync } from "node:fs";

/** Bytes that the disk of a file or folder has left for processes without privileges. Throws when there is no such file. */
export function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Free space of disks. */
import { statfsSync } from "node:fs";

/**
 * Free bytes, for processes without privileges, on the disk of a file or folder. Throws when it
 * does not exist.
 */
export function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Whether the disks of a redirector have room. */
import { readFreeBytes } from "../shared/disk.ts";

/** A disk with less is nearly full: the open segments of a journal, and the reserve of a links store. */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

/** What happens on a full disk, by the variable that names the folder. */
export type DiskFolders = Readonly<Record<string, { dir: string; consequence: string }>>;

/** Which folders have no room left, and what that means; undefined when all have. */
export function diskWarning(folders: DiskFolders): string | undefined {
  const problems = Object.entries(folders).flatMap(([variable, { dir, consequence }]) => {
    const bytes = readRoom(dir);
    return bytes === undefined || bytes >= ROOM_BYTES_MIN
      ? []
      : [
          `the disk of ${variable} has ${Math.floor(bytes / 1024 ** 2)} MiB left; when it is full, ${consequence}`,
        ];
  });
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** The bytes that a folder's disk has for processes without privileges; undefined while there is no such folder. */
function readRoom(dir: string): number | undefined {
  try {
    return readFreeBytes(dir);
  } catch {
    return undefined;
  }
}

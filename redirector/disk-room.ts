/** Checks the free disk space of a redirector. */
import { readFreeBytes } from "../shared/disk.ts";

/**
 * Free space below which a disk is nearly full: the open segments of a journal, and the reserve of
 * a links store.
 */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

/** The consequence of a full disk, by the variable that names the folder. */
export type DiskFolders = Readonly<Record<string, { dir: string; consequence: string }>>;

/** Describes the folders on full disks and the consequences; undefined when there are none. */
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

/**
 * The free bytes of a folder's disk for unprivileged processes; undefined while the folder does not
 * exist.
 */
function readRoom(dir: string): number | undefined {
  try {
    return readFreeBytes(dir);
  } catch {
    return undefined;
  }
}

/** Creates, reuses and removes the files of segments. */
import { openSync, renameSync, rmSync } from "node:fs";

/**
 * Maximum empty files kept for later segments. A file system creates files slowly while many are
 * being deleted (ext4 scans all that were deleted in the last five seconds), and the redirect that
 * needs the file would wait.
 */
const FREE_FILES_MAX = 64;

export function createFreeFiles(onError: (error: unknown) => void) {
  const paths: string[] = [];

  function remove(path: string): void {
    // A stopping publisher has already deleted it.
    try {
      rmSync(path, { force: true });
    } catch (error) {
      onError(error);
    }
  }

  return {
    /**
     * Creates an empty file, from a free one if there is one; returns its descriptor. Throws when
     * the disk does not allow it.
     */
    create(path: string): number {
      const free = paths.pop();
      if (free !== undefined) {
        try {
          renameSync(free, path);
          return openSync(path, "r+");
        } catch (error) {
          onError(error);
          remove(path);
        }
      }
      return openSync(path, "wx", 0o600);
    },
    /** Keeps an empty file for later, or removes it. */
    recycle(path: string): void {
      if (paths.length < FREE_FILES_MAX) paths.push(path);
      else remove(path);
    },
    removeAll(): void {
      for (const path of paths.splice(0)) remove(path);
    },
  };
}

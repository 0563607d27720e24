/** Small disks, for tests of full ones. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Mounts a disk of a size such as `64k` on a folder; false where that is not allowed. */
export const mountDisk = (dir: string, size: string): boolean =>
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", dir]).exitCode === 0;

/** Makes a disk read-only, or writable again. */
export const remountDisk = (dir: string, access: "ro" | "rw"): void =>
  void Bun.spawnSync(["mount", "-o", `remount,${access}`, dir]);

/** Removes a disk, also while files on it are open. */
export const unmountDisk = (dir: string): void => void Bun.spawnSync(["umount", "--lazy", dir]);

/** Whether disks can be mounted here; says so if they cannot. */
export const canMountDisks = ((): boolean => {
  const probe = mkdtempSync(join(tmpdir(), "shorthop-disk-"));
  const isMounted = mountDisk(probe, "64k");
  if (isMounted) unmountDisk(probe);
  else console.warn("\n!!! A small disk cannot be mounted here: full disks are NOT TESTED\n");
  rmSync(probe, { recursive: true });
  return isMounted;
})();

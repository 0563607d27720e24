/** Disks of their own for a store: they can be full, or refuse writes as after an error. */
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { run as runIn } from "../../deploy/packages/run.ts";
import { copyFiles } from "./templates.ts";

/** Room on a disk beyond what the store takes: for its logs while it works. */
const ROOM_MIB = 320;

export type Disk = {
  /** Uses up all of its room. */
  fill(): void;
  /** Gives that room back. */
  free(): void;
  /**
   * Makes every further write fail, also to files that are open, as the kernel does after an error.
   */
  breakWrites(): void;
  /** Makes a broken disk writable again; nobody may use it meanwhile. */
  mend(): void;
};

/** Whether a file can be a disk here (a loop device). */
export function canMakeDisks(): boolean {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-disk-"));
  try {
    const image = join(dir, "image");
    run(["truncate", "--size=8M", image]);
    run(["mkfs.ext4", "-q", "-F", image]);
    run(["mount", "-o", "loop", image, dir]);
    run(["umount", dir]);
    return true;
  } catch {
    console.warn("\n!!! No disk can be made here: read-only disks are NOT TESTED\n");
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Moves a folder, which nobody uses, to a disk of its own. */
export function moveToDisk(dir: string, cleanup: (work: () => void) => void): Disk {
  const { uid, gid, mode } = statSync(dir);
  const work = mkdtempSync(join(dirname(dir), "disk-"));
  const [image, copy] = [join(work, "image"), join(work, "copy")];
  copyFiles(dir, copy);
  const [used = ""] = run(["du", "--summarize", "--block-size=1M", copy]).split("\t");
  const mib = Math.ceil(Number(used) * 1.2) + ROOM_MIB;
  run(["truncate", `--size=${mib}M`, image]);
  run(["mkfs.ext4", "-q", "-F", "-m", "0", image]);
  run(["mount", "-o", "loop", image, dir]);
  cleanup(() => void Bun.spawnSync(["umount", "--lazy", dir]));
  run(["cp", "-a", `${copy}/.`, dir]);
  rmSync(copy, { recursive: true });
  rmSync(join(dir, "lost+found"), { recursive: true });
  chownSync(dir, uid, gid);
  chmodSync(dir, mode);
  const filler = join(dir, "filler");
  return {
    // It ends with an error when there is no more room.
    fill: () =>
      void Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=64k"], { stderr: "ignore" }),
    free: () => rmSync(filler),
    breakWrites() {
      // What was written before is not at stake here.
      run(["sync", "--file-system", dir]);
      run(["mount", "-o", "remount,abort", dir]);
    },
    mend() {
      run(["umount", "--lazy", dir]);
      // Of another file: the kernel goes on with the broken disk while anybody has it, as a process
      // that is ending.
      const mended = `${image}-mended`;
      run(["cp", "--sparse=always", image, mended]);
      // It ends with 1 when it has corrected what the error left.
      Bun.spawnSync(["e2fsck", "-f", "-y", mended]);
      run(["mount", "-o", "loop", mended, dir]);
    },
  };
}

const run = (command: string[]): string => runIn(command, "/");

/** Mounts a disk of a size such as `64k` on a folder; false where that is not allowed. */
export const mountDisk = (dir: string, size: string): boolean =>
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", dir]).exitCode === 0;

/** Makes a disk read-only, or writable again. */
export const remountDisk = (dir: string, access: "ro" | "rw"): void =>
  void Bun.spawnSync(["mount", "-o", `remount,${access}`, dir]);

/** Removes a disk, also while files on it are open. */
export const unmountDisk = (dir: string): void => void Bun.spawnSync(["umount", "--lazy", dir]);

/** Whether disks can be mounted here; says so if they cannot. */
export function canMountDisks(): boolean {
  const probe = mkdtempSync(join(tmpdir(), "shorthop-disk-"));
  const isMounted = mountDisk(probe, "64k");
  if (isMounted) unmountDisk(probe);
  else console.warn("\n!!! A small disk cannot be mounted here: full disks are NOT TESTED\n");
  rmSync(probe, { recursive: true });
  return isMounted;
}

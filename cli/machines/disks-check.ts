/** Checks the disks on which processes and stores of this host keep their data. */
import { existsSync, statfsSync, statSync } from "node:fs";

import type { Check, Problem } from "../../shared/preflight.ts";

/** Where Debian's packages and ours keep data; those that share a disk count once. */
const DATA_DIRS = [
  "/var/lib",
  "/var/lib/shorthop-links",
  "/var/lib/postgresql",
  "/var/lib/nats",
  "/var/lib/clickhouse",
  "/var/backups",
];

/** Free shares of a disk from which on it counts as nearly full, and as full. */
const FREE_LOW = 0.1;
const FREE_OUT = 0.03;

const GIB = 1024 ** 3;

/** Bytes that processes without privileges can still write, and those of the whole disk. */
export type Disk = { path: string; free: number; size: number };

export function listDisks(dirs: readonly string[] = DATA_DIRS): Disk[] {
  const seen = new Set<number>();
  return dirs.flatMap((path) => {
    if (!existsSync(path)) return [];
    const { dev } = statSync(path);
    if (seen.has(dev)) return [];
    seen.add(dev);
    const { bavail, blocks, bsize } = statfsSync(path);
    return [{ path, free: bavail * bsize, size: blocks * bsize }];
  });
}

export const checkDisks = (list = listDisks): Check => ({
  name: "disks",
  mend: "Run this as root.",
  run: () => list().flatMap((disk) => findProblem(disk) ?? []),
});

function findProblem({ path, free, size }: Disk): Problem | undefined {
  if (free >= FREE_LOW * size) return undefined;
  return {
    status: free < FREE_OUT * size ? "failed" : "warning",
    detail: `the disk of ${path} has ${(free / GIB).toFixed(1)} GiB of ${(size / GIB).toFixed(1)} GiB left`,
    mend: "See what takes the room (du --one-file-system), or enlarge the disk (docs/operations.md#capacity).",
  };
}

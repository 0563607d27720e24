/** The cores that a run of tests may use. */
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/**
 * Counts cores: those of the machine, or what the quota of this process's control group leaves of
 * them (cgroups(7)).
 */
export function countCores(root = "/"): number {
  const groups = read(join(root, "proc/self/cgroup"))?.split("\n") ?? [];
  const quotas = groups.flatMap((line) => {
    const [, controllers = "", path = ""] = line.split(":");
    const quota = controllers === "" ? readUnified(root, path) : readCpu(root, controllers, path);
    return quota === undefined ? [] : [quota];
  });
  return Math.min(availableParallelism(), ...quotas);
}

/** Version 2: quota and period in one file, or `max`. */
function readUnified(root: string, path: string): number | undefined {
  const [quota, period] = read(join(root, "sys/fs/cgroup", path, "cpu.max"))?.split(" ") ?? [];
  return quota === undefined || quota === "max" ? undefined : Number(quota) / Number(period);
}

/** Version 1: a negative quota is none. */
function readCpu(root: string, controllers: string, path: string): number | undefined {
  if (!controllers.split(",").includes("cpu")) return undefined;
  const folder = join(root, "sys/fs/cgroup/cpu", path);
  const quota = Number(read(join(folder, "cpu.cfs_quota_us")) ?? -1);
  return quota < 0 ? undefined : quota / Number(read(join(folder, "cpu.cfs_period_us")));
}

const read = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;

/**
 * Has all processes that this one starts run as suits those that live for seconds. Bun's allocator
 * keeps its memory, in large pages: it gives it back after moments and takes it again page by page,
 * which is a third of their CPU time (https://microsoft.github.io/mimalloc/environment.html). The
 * compiler for code that has run for long does not start, and one thread marks garbage: the others
 * would take the processor from what is tested.
 */
export function suitShortLives(): void {
  process.env["MIMALLOC_ALLOW_THP"] = "1";
  process.env["MIMALLOC_PURGE_DELAY"] = "-1";
  process.env["BUN_JSC_useFTLJIT"] = "0";
  process.env["BUN_JSC_numberOfGCMarkers"] = "1";
}

/** What `/proc` says of processes: whether they run, their CPU time and memory (Linux). */
import { readdirSync, readFileSync } from "node:fs";

/** `USER_HZ`: 100 on every Linux platform (proc(5)). */
const TICKS_PER_SECOND = 100;

/** A file of `/proc`; without text when its process has ended. */
function read(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return "";
  }
}

/** The fields of a `stat` after the name of the program; none when it has ended. */
const readFields = (path: string): string[] => {
  // The name may contain spaces and parentheses.
  const [, fields] = /^.*\) (.*)$/s.exec(read(path)) ?? [];
  return fields?.split(" ") ?? [];
};

/** The sum of times in microseconds. */
const toMicros = (ticks: readonly (string | undefined)[]): number =>
  (ticks.reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND) * 1e6;

/**
 * User and system time of each thread of a process so far, in microseconds (proc(5) stat, fields 14
 * and 15).
 */
export function readThreadCpu(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((thread): [string, number][] => {
      const fields = readFields(`${pid}/task/${thread}/stat`);
      // It may have ended since it was listed.
      return fields.length === 0 ? [] : [[thread, toMicros(fields.slice(11, 13))]];
    }),
  );
}

/**
 * User and system time of a process so far, in microseconds; threads that have ended are left out.
 */
export const readCpu = (pid: number): number =>
  [...readThreadCpu(pid).values()].reduce((sum, micros) => sum + micros, 0);

/**
 * User and system time of a process and all its descendants so far, in milliseconds, with those
 * that have ended (proc(5) stat, fields 4 and 14 to 17).
 */
export const readTreeCpu = (root: number): number =>
  listTree(root).reduce(
    (sum, pid) => sum + toMicros(readFields(`${pid}/stat`).slice(11, 15)) / 1_000,
    0,
  );

/**
 * Memory of a process and all its descendants, in bytes: pages that several of them share are
 * counted once (proc(5) smaps_rollup, Pss), as PostgreSQL's processes share its buffers.
 */
export const treeBytes = (root: number): number =>
  listTree(root).reduce((sum, pid) => {
    const [, kib = 0] = /^Pss:\s+(\d+) kB/m.exec(read(`${pid}/smaps_rollup`)) ?? [];
    return sum + Number(kib) * 1_024;
  }, 0);

/** The process ids of a process and all its descendants. */
export function listTree(root: number): number[] {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const parents = new Map(pids.map((pid) => [pid, Number(readFields(`${pid}/stat`)[1] ?? 0)]));
  const isBelow = (pid: number): boolean => {
    for (let at = pid; at > 1; at = parents.get(at) ?? 0) if (at === root) return true;
    return false;
  };
  return pids.filter(isBelow);
}

/** Resident memory of a process, in bytes; NaN when it has ended. */
export const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(read(`${pid}/status`))?.[1]) * 1_024;

/** Whether a process runs; a zombie has ended. */
export const isRunning = (pid: number): boolean =>
  !["Z", undefined].includes(readFields(`${pid}/stat`)[0]);

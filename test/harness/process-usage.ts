/** What `/proc` says of processes: whether they run, their CPU time and memory (Linux). */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** `USER_HZ`: 100 on every Linux platform (proc(5)). */
const TICKS_PER_SECOND = 100;

/**
 * User and system time of each thread of a process so far, in microseconds (proc(5) stat, fields 14
 * and 15).
 */
export function readThreadCpu(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    readdirSync(tasks).flatMap((thread): [string, number][] => {
      const file = `${tasks}/${thread}/stat`;
      // It may have ended since it was listed.
      if (!existsSync(file)) return [];
      const fields = readFileSync(file, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      return [[thread, ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6]];
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
export function readTreeCpu(root: number): number {
  return readTree(root).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/**
 * Memory of a process and all its descendants, in bytes: pages that several of them share are
 * counted once (proc(5) smaps_rollup, Pss), as PostgreSQL's processes share its buffers.
 */
export function treeBytes(root: number): number {
  return readTree(root).reduce((sum, { pid }) => sum + proportionalBytes(pid), 0);
}

function proportionalBytes(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024;
  } catch {
    // It has ended since it was listed.
    return 0;
  }
}

type ProcessStat = { pid: number; parent: number; cpuMs: number };

function readTree(root: number): ProcessStat[] {
  const stats = new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const stat = readStat(Number(name));
        return stat === undefined ? [] : [[stat.pid, stat] as const];
      }),
  );
  const isBelow = (pid: number): boolean => {
    for (let at = pid; at > 1; at = stats.get(at)?.parent ?? 0) if (at === root) return true;
    return false;
  };
  return [...stats.values()].filter(({ pid }) => isBelow(pid));
}

/**
 * The parent of a process, and its CPU time with that of its ended children; undefined when it has
 * ended.
 */
function readStat(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The name of the program may contain spaces and parentheses.
  const fields = text
    .replace(/^.*\) /s, "")
    .split(" ")
    .map(Number);
  const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + (fields[field] ?? 0), 0);
  return { pid, parent: fields[1] ?? 0, cpuMs: (ticks / TICKS_PER_SECOND) * 1_000 };
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024;
}

/** Whether a process runs; a zombie has ended. */
export function isRunning(pid: number): boolean {
  try {
    // The name in parentheses may contain spaces; after it comes the state (proc(5)).
    return !readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .startsWith("Z");
  } catch {
    return false;
  }
}

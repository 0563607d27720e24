/** CPU time of processes (Linux). */
import { readdirSync, readFileSync } from "node:fs";

/** `USER_HZ`: 100 on every Linux platform (proc(5)). */
const TICKS_PER_SECOND = 100;

/** User and system time of each thread of a process so far, in microseconds (proc(5) stat, fields 14 and 15). */
export function readThreadCpu(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((thread): [string, number] => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1");
      const fields = text.replace(/^.*\) /s, "").split(" ");
      return [thread, ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6];
    }),
  );
}

/** User and system time of a process so far, in microseconds; threads that have ended are left out. */
export const readCpu = (pid: number): number =>
  [...readThreadCpu(pid).values()].reduce((sum, micros) => sum + micros, 0);

/** Identifies processes, also when a process id is used again. */
import { readFileSync } from "node:fs";

/** A process and its start time: the pid may since have been reused. */
export type ProcessEntry = { name: string; pid: number; startedAt: string };

export const isAlive = ({ pid, startedAt }: ProcessEntry): boolean =>
  readStartTime(pid) === startedAt;

/**
 * Returns when a process started, in the operating system's format; undefined if it is not running.
 */
export function readStartTime(pid: number): string | undefined {
  if (process.platform !== "linux") {
    const { stdout, exitCode } = Bun.spawnSync(["ps", "-o", "lstart=", "-p", String(pid)]);
    return exitCode === 0 ? stdout.toString().trim() : undefined;
  }
  try {
    // The name in parentheses may contain spaces; after it, the first field is the state (a zombie
    // has ended), and the 20th is the start time (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** What `/proc` says of a process. */
import { readFileSync } from "node:fs";

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

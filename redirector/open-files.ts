/** The process's limit of open files, as a bound on its connections. */
import { readFileSync } from "node:fs";

/**
 * Maximum files other than visitors' connections: listeners, NATS, the journal's segments and files
 * of libraries.
 */
const OTHER_FILES_MAX = 256;

const LIMITS_PATH = "/proc/self/limits";

/**
 * Returns how many connections the process may have open (proc_pid_limits(5)); Infinity when that
 * is unlimited or unknown. Without a free file descriptor a listener fails to accept, and is woken
 * again at once, for as long as clients wait.
 */
export function readConnectionsLimit(read: () => string = readLimits): number {
  // The hard limit: Bun raises the soft limit to it at the start.
  const [, files] = /^Max open files +\w+ +(\d+)/m.exec(read()) ?? [];
  return files === undefined ? Infinity : Math.max(1, Number(files) - OTHER_FILES_MAX);
}

/** Returns an empty text on systems without that file. */
function readLimits(): string {
  try {
    return readFileSync(LIMITS_PATH, "latin1");
  } catch {
    return "";
  }
}

/**
 * Which processes the stack has started, on disk: so that a start after a killed supervisor finds
 * what was left running, and ends that and nothing else.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

import * as z from "zod";

const entry = z.object({ name: z.string(), pid: z.int(), startedAt: z.string() });

/** A process, with when it started: a number alone may have gone to another one since. */
export type ProcessEntry = z.output<typeof entry>;

const SUPERVISOR = "supervisor";

export type ProcessFile = {
  add(name: string, pid: number): void;
  remove(pid: number): void;
  /** Forgets everything, when nothing is left running. */
  clear(): void;
};

/** Opens the file for this supervisor's own processes, itself the first. */
export function openProcessFile(path: string): ProcessFile {
  let entries: ProcessEntry[] = [];
  const save = () => {
    writeFileSync(`${path}.new`, JSON.stringify(entries));
    renameSync(`${path}.new`, path);
  };
  const add = (name: string, pid: number) => {
    const startedAt = startOf(pid);
    if (startedAt === undefined) return;
    entries.push({ name, pid, startedAt });
    save();
  };
  add(SUPERVISOR, process.pid);
  return {
    add,
    remove(pid) {
      entries = entries.filter((known) => known.pid !== pid);
      save();
    },
    clear: () => rmSync(path, { force: true }),
  };
}

/** The recorded processes that still run as the same processes; the supervisor apart. */
export function readLeftovers(path: string): {
  supervisor: number | undefined;
  children: ProcessEntry[];
} {
  const alive = readEntries(path).filter(isAlive);
  return {
    supervisor: alive.find(({ name }) => name === SUPERVISOR)?.pid,
    children: alive.filter(({ name }) => name !== SUPERVISOR),
  };
}

/** Ends a process that was left running: kindly, then by force. */
export async function endLeftover(leftover: ProcessEntry, patienceMs: number): Promise<void> {
  // PostgreSQL takes SIGINT for a fast shutdown; SIGTERM would wait for its clients.
  process.kill(leftover.pid, leftover.name === "postgres" ? "SIGINT" : "SIGTERM");
  const deadline = Date.now() + patienceMs;
  while (isAlive(leftover)) {
    if (Date.now() > deadline) {
      process.kill(leftover.pid, "SIGKILL");
      return;
    }
    await Bun.sleep(50);
  }
}

export const isAlive = ({ pid, startedAt }: ProcessEntry): boolean => startOf(pid) === startedAt;

function readEntries(path: string): ProcessEntry[] {
  try {
    return z.array(entry).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return [];
  }
}

/** When a process started, in the system's own words; undefined when it does not run. */
export function startOf(pid: number): string | undefined {
  if (process.platform !== "linux") {
    const { stdout, exitCode } = Bun.spawnSync(["ps", "-o", "lstart=", "-p", String(pid)]);
    return exitCode === 0 ? stdout.toString().trim() : undefined;
  }
  try {
    // The name in parentheses may hold spaces; start time is the 20th field behind it (proc(5)), and
    // the first is the state: a zombie has ended.
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

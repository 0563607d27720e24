/**
 * A file with the processes that the stack has started. After the supervisor was killed, the next start finds the
 * orphans in it, and ends nothing else.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

import * as z from "zod";

const entry = z.object({ name: z.string(), pid: z.int(), startedAt: z.string() });

/** A process and its start time: the pid may since have been reused. */
export type ProcessEntry = z.output<typeof entry>;

const SUPERVISOR = "supervisor";

export type ProcessRegistry = {
  add(name: string, pid: number): void;
  remove(pid: number): void;
  /** Removes the file, when no process is left. */
  clear(): void;
};

/** Opens the file and registers this supervisor as its first process. */
export function openProcessRegistry(path: string): ProcessRegistry {
  let entries: ProcessEntry[] = [];
  const save = () => {
    writeFileSync(`${path}.new`, JSON.stringify(entries));
    renameSync(`${path}.new`, path);
  };
  const add = (name: string, pid: number) => {
    const startedAt = readStartTime(pid);
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

/** Returns the registered processes that are still running, with the supervisor separate. */
export function readOrphans(path: string): {
  supervisor: number | undefined;
  children: ProcessEntry[];
} {
  const alive = readEntries(path).filter(isAlive);
  return {
    supervisor: alive.find(({ name }) => name === SUPERVISOR)?.pid,
    children: alive.filter(({ name }) => name !== SUPERVISOR),
  };
}

/** Ends an orphan: with a signal first, by SIGKILL after `graceMs`. */
export async function endOrphan(orphan: ProcessEntry, graceMs: number): Promise<void> {
  // SIGINT makes PostgreSQL shut down fast; on SIGTERM it would wait for its clients.
  process.kill(orphan.pid, orphan.name === "postgres" ? "SIGINT" : "SIGTERM");
  const deadline = Date.now() + graceMs;
  while (isAlive(orphan)) {
    if (Date.now() > deadline) {
      process.kill(orphan.pid, "SIGKILL");
      return;
    }
    await Bun.sleep(50);
  }
}

export const isAlive = ({ pid, startedAt }: ProcessEntry): boolean =>
  readStartTime(pid) === startedAt;

function readEntries(path: string): ProcessEntry[] {
  try {
    return z.array(entry).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return [];
  }
}

/** Returns when a process started, in the operating system's format; undefined if it is not running. */
export function readStartTime(pid: number): string | undefined {
  if (process.platform !== "linux") {
    const { stdout, exitCode } = Bun.spawnSync(["ps", "-o", "lstart=", "-p", String(pid)]);
    return exitCode === 0 ? stdout.toString().trim() : undefined;
  }
  try {
    // The name in parentheses may contain spaces; after it, the first field is the state (a zombie has ended), and
    // the 20th is the start time (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

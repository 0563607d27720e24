/**
 * A file with the processes that the stack has started. After the supervisor was killed, the next
 * start finds the orphans in it, and ends nothing else.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

import * as z from "zod";

import { isAlive, type ProcessEntry, readStartTime } from "./process-entry.ts";

const entry: z.ZodType<ProcessEntry> = z.object({
  name: z.string(),
  pid: z.int(),
  startedAt: z.string(),
});

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

function readEntries(path: string): ProcessEntry[] {
  try {
    return z.array(entry).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return [];
  }
}

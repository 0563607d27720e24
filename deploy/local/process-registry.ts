/**
 * A file with the processes that the stack has started. After the supervisor was killed, the next
 * start finds the orphans in it, and ends nothing else.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

import * as z from "zod";

import { isAlive, type ProcessEntry, readStartTime } from "./watchdog.ts";

const entry: z.ZodType<ProcessEntry> = z.object({
  name: z.string(),
  pid: z.int(),
  startedAt: z.string(),
});

const SUPERVISOR = "supervisor";

/** The file of this supervisor's processes, of which it is the first. */
export class ProcessRegistry {
  readonly #path: string;
  #entries: ProcessEntry[] = [];

  constructor(path: string) {
    this.#path = path;
    this.add(SUPERVISOR, process.pid);
  }

  add(name: string, pid: number): void {
    const startedAt = readStartTime(pid);
    if (startedAt === undefined) return;
    this.#entries.push({ name, pid, startedAt });
    this.#save();
  }

  remove(pid: number): void {
    this.#entries = this.#entries.filter((known) => known.pid !== pid);
    this.#save();
  }

  /** Removes the file, when no process is left. */
  clear(): void {
    rmSync(this.#path, { force: true });
  }

  #save(): void {
    writeFileSync(`${this.#path}.new`, JSON.stringify(this.#entries));
    renameSync(`${this.#path}.new`, this.#path);
  }
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

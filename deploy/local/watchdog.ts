/**
 * Ends a process's children if it no longer can: after `kill -9` or a crash. The watchdog holds the
 * read end of a pipe whose write end belongs only to its parent. When the parent ends for any
 * reason, the kernel closes the pipe. Children need not cooperate, so this also works for servers
 * of other projects, and it needs no extra package (as `setpriv --pdeathsig` would need
 * util-linux).
 *
 * Run as a program it reads lines of `name pid`: the children to watch. A parent may be killed
 * after it has started a child and before it has said so: on Linux, a variable in the child's
 * environment names its parent.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const MARK = "SHORTHOP_WATCHDOG";

/** Grace period before a process is killed, and how often that is checked. */
const GRACE_MS = 2_000;
const POLL_MS = 50;

/** Children the watchdog stores before it removes those that have ended. */
const WATCHED_MAX = 100;

/** A watchdog of this process; it ends with this process, and does not keep it alive. */
export class Watchdog {
  readonly #id = randomUUID();
  readonly #input: Bun.FileSink;

  constructor() {
    const child = Bun.spawn([process.execPath, import.meta.path, this.#id], {
      // Its own session, so that a signal to this process's group does not end it.
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      // No variables of the stack.
      env: {},
    });
    child.unref();
    this.#input = child.stdin;
  }

  /**
   * For the environment of a child: it is ended even if this process ends before it can call
   * `watch`.
   */
  get mark(): Record<string, string> {
    return { [MARK]: this.#id };
  }

  /** Ends the process if this one ends without stopping it. */
  watch(name: string, pid: number): void {
    void this.#input.write(`${name} ${pid}\n`);
    // Flushed at once: this process may be killed at any time.
    void this.#input.flush();
  }
}

/** On SIGQUIT PostgreSQL and its child processes end immediately; it recovers at its next start. */
const signalFor = (name: string): NodeJS.Signals => (name === "postgres" ? "SIGQUIT" : "SIGKILL");

async function run(): Promise<void> {
  let watched: ProcessEntry[] = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const [name = "", number] = line.split(" ");
    const pid = Number(number);
    const startedAt = readStartTime(pid);
    if (startedAt === undefined) continue;
    if (watched.length >= WATCHED_MAX) watched = watched.filter(isAlive);
    watched.push({ name, pid, startedAt });
  }
  watched.push(...findMarked(`${MARK}=${process.argv[2]}`));
  for (const entry of watched.filter(isAlive)) end(entry, signalFor(entry.name));
  const deadline = Date.now() + GRACE_MS;
  while (watched.some(isAlive) && Date.now() < deadline) await Bun.sleep(POLL_MS);
  for (const entry of watched.filter(isAlive)) end(entry, "SIGKILL");
}

/** Text of a file of `/proc`; empty if its process has ended, or is another user's. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * Finds the processes whose environment at their start had the variable; none where there is no
 * `/proc`.
 */
function findMarked(variable: string): ProcessEntry[] {
  const pids = process.platform === "linux" ? readdirSync("/proc").filter(Number).map(Number) : [];
  return pids.flatMap((pid) => {
    if (!read(`/proc/${pid}/environ`).split("\0").includes(variable)) return [];
    const startedAt = readStartTime(pid);
    const name = read(`/proc/${pid}/comm`).trim();
    return startedAt === undefined ? [] : [{ name, pid, startedAt }];
  });
}

function end({ pid }: ProcessEntry, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}

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

if (import.meta.main) await run();

/**
 * Ends a process's children if it no longer can: after `kill -9` or a crash. The watchdog holds the
 * read end of a pipe whose write end belongs only to its parent. When the parent ends for any
 * reason, the kernel closes the pipe. Children need not cooperate, so this also works for servers
 * of other projects, and it needs no extra package (as `setpriv --pdeathsig` would need
 * util-linux).
 *
 * Run as a program it reads lines of `name pid`: the children to watch. A parent may be killed
 * after it has started a child and before it has said so: a variable in the child's environment
 * names its parent.
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
  readonly #mark: string;
  readonly #input: Bun.FileSink;

  /** `home` is where the children belong: {@link endLeftovers} finds those that are left. */
  constructor(home = "") {
    this.#mark = `${markOf(home)}${randomUUID()}`;
    const child = Bun.spawn([process.execPath, import.meta.path, this.#mark], {
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
    return { [MARK]: this.#mark };
  }

  /** Ends the process if this one ends without stopping it. */
  watch(name: string, pid: number): void {
    void this.#input.write(`${name} ${pid}\n`);
    // Flushed at once: this process may be killed at any time.
    void this.#input.flush();
  }
}

/**
 * Ends what processes that had `home` have left running: they and their watchdogs were killed.
 * Returns the names.
 */
export async function endLeftovers(home: string): Promise<string[]> {
  const found = findMarked(markOf(home));
  await endAll(found);
  return found.map(({ name }) => name);
}

/** The beginning of a mark: says nothing of a path, which others may see in a command line. */
const markOf = (home: string): string =>
  `${new Bun.CryptoHasher("sha256").update(home).digest("hex").slice(0, 16)}-`;

async function run(mark = ""): Promise<void> {
  let watched: ProcessEntry[] = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const [name = "", number] = line.split(" ");
    const pid = Number(number);
    const startedAt = readStartTime(pid);
    if (startedAt === undefined) continue;
    if (watched.length >= WATCHED_MAX) watched = watched.filter(isAlive);
    watched.push({ name, pid, startedAt });
  }
  await endAll([...watched, ...findMarked(mark)]);
}

async function endAll(entries: readonly ProcessEntry[]): Promise<void> {
  for (const entry of entries.filter(isAlive)) end(entry, signalFor(entry.name));
  const deadline = Date.now() + GRACE_MS;
  while (entries.some(isAlive) && Date.now() < deadline) await Bun.sleep(POLL_MS);
  for (const entry of entries.filter(isAlive)) end(entry, "SIGKILL");
}

/** On SIGQUIT PostgreSQL and its child processes end immediately; it recovers at its next start. */
const signalFor = (name: string): NodeJS.Signals => (name === "postgres" ? "SIGQUIT" : "SIGKILL");

/** The text of a file of `/proc`; empty if its process has ended, or is another user's. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Finds the processes whose environment at their start had a mark that begins so. */
const findMarked = (mark: string): ProcessEntry[] =>
  readdirSync("/proc")
    .filter(Number)
    .flatMap((pid) => {
      const variables = read(`/proc/${pid}/environ`).split("\0");
      const startedAt = readStartTime(Number(pid));
      if (startedAt === undefined || !variables.some((text) => text.startsWith(`${MARK}=${mark}`)))
        return [];
      return [{ name: read(`/proc/${pid}/comm`).trim(), pid: Number(pid), startedAt }];
    });

function end({ pid }: ProcessEntry, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}

/** A process and its start time: the pid may since have been reused. */
type ProcessEntry = { name: string; pid: number; startedAt: string };

const isAlive = ({ pid, startedAt }: ProcessEntry): boolean => readStartTime(pid) === startedAt;

/** Returns when a process started, in ticks since the boot; undefined if it is not running. */
export function readStartTime(pid: number): string | undefined {
  // The name in parentheses may contain spaces; after it, the first field is the state (a zombie
  // has ended), and the 20th is the start time (proc(5)).
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, "")
    .split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

if (import.meta.main) await run(process.argv[2]);

/**
 * Runs the stack's processes: starts them, restarts a crashed one, stops them in order. Each runs
 * in its own session, so that Ctrl-C in a terminal signals only the supervisor.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { Logger } from "./logger.ts";

export type Service = {
  name: string;
  command: readonly [string, ...string[]];
  env: Record<string, string>;
  /** User to run it as, if it is not the stack's. */
  user?: { uid: number; gid: number } | undefined;
  /** Signal for a graceful stop; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
  /** Signal at the end of the supervisor, if it was killed; SIGKILL by default. */
  orphanSignal?: "QUIT";
  /** In development: a service that ends waits for {@link Supervisor.reload}. */
  waitsForReload?: boolean;
  /** Whether it is ready; may throw while it is starting. */
  isReady: () => Promise<boolean>;
};

type Events = {
  /** Called after a crashed service was restarted and has a new pid. */
  onRestart: () => void;
  /** Called once if a service cannot be kept running. */
  onFatal: (reason: string) => void;
};

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const STOP_GRACE_MS = 10_000;

/** Short, because a person waits for the page; processes that are killed lose no data. */
const RELOAD_GRACE_MS = 500;

/** After this many crashes within this time the supervisor gives up. */
const CRASHES_MAX = 5;
const CRASHES_WITHIN_MS = 60_000;
const RESTART_DELAY_MS = { first: 500, max: 10_000 };

type Running = { service: Service; child: ChildProcess; ended: Promise<string>; crashes: number[] };

export class Supervisor {
  readonly #logger: Logger;
  readonly #events: Events;
  readonly #running = new Map<string, Running>();
  /** The services that are not restarted. */
  readonly #stopping = new Set<string>();
  #isClosed = false;

  constructor(logger: Logger, events: Events) {
    this.#logger = logger;
    this.#events = events;
  }

  pidOf(name: string): number | null {
    return this.#running.get(name)?.child.pid ?? null;
  }

  /** Resolves when the service is ready, or rejects with the reason. Starts none after `stop`. */
  async start(service: Service): Promise<void> {
    // Another service has failed to start.
    if (this.#isClosed) return;
    const started = Date.now();
    this.#logger.log(`Starting ${service.name} …`);
    const { ended } = this.#launch(service, []);
    const failure = await Promise.race([
      waitUntilReady(service),
      ended.then((reason) => `it ended (${reason})`),
    ]);
    if (failure !== undefined) {
      this.#stopping.add(service.name);
      const lines = this.#lastLinesOf(service.name);
      throw new Error(`${service.name} failed to start: ${failure}.\n${lines}`);
    }
    this.#logger.log(`${service.name} is ready (${seconds(Date.now() - started)}).`);
  }

  /** Restarts a service with its current code; kills it if it does not stop soon. */
  async reload(name: string): Promise<void> {
    const service = this.#running.get(name)?.service;
    if (service === undefined || this.#isClosed) return;
    await this.#stopOne(name, RELOAD_GRACE_MS);
    // The whole stack may have been stopped in the meantime.
    if (this.#isClosed) return;
    this.#stopping.delete(name);
    this.#launch(service, []);
    this.#events.onRestart();
  }

  /** Stops the named services, one group after the other. */
  async stop(groups: readonly (readonly string[])[]): Promise<void> {
    this.#isClosed = true;
    // None of them may be restarted while the others stop.
    for (const name of groups.flat()) this.#stopping.add(name);
    for (const names of groups)
      await Promise.all(names.map((name) => this.#stopOne(name, STOP_GRACE_MS)));
  }

  #launch(service: Service, crashes: number[]): Running {
    const { child, ended } = this.#spawn(service);
    const entry: Running = { service, child, ended, crashes };
    this.#running.set(service.name, entry);
    void ended.then(async (reason) => {
      if (this.#stopping.has(service.name)) return;
      if (service.waitsForReload === true)
        this.#logger.log(`${service.name} ended (${reason}); waiting for its code to change.`);
      else await this.#restart(entry, reason);
    });
    return entry;
  }

  #spawn({ name, command, env, user, orphanSignal }: Service) {
    const [program, ...args] = endWithParent(command, orphanSignal);
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      ...user,
    });
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => this.#logger.logProcess(name, line));
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    return { child, ended };
  }

  async #restart({ service, crashes }: Running, reason: string): Promise<void> {
    const { name } = service;
    const recent = [...crashes, Date.now()].filter((at) => at > Date.now() - CRASHES_WITHIN_MS);
    this.#logger.log(`${name} ended (${reason}).`);
    if (recent.length >= CRASHES_MAX) {
      const crashed = `${name} ended ${recent.length} times within ${seconds(CRASHES_WITHIN_MS)}`;
      this.#events.onFatal(`${crashed}.\n${this.#lastLinesOf(name)}`);
      return;
    }
    const delay = Math.min(RESTART_DELAY_MS.first * 2 ** (recent.length - 1), RESTART_DELAY_MS.max);
    await Bun.sleep(delay);
    if (this.#stopping.has(name)) return;
    this.#logger.log(`Restarting ${name} …`);
    this.#launch(service, recent);
    this.#events.onRestart();
  }

  /** Ends a process; kills it after the grace period. */
  async #stopOne(name: string, graceMs: number): Promise<void> {
    this.#stopping.add(name);
    const entry = this.#running.get(name);
    if (entry === undefined || entry.child.exitCode !== null || entry.child.signalCode !== null)
      return;
    entry.child.kill(entry.service.stopSignal ?? "SIGTERM");
    const force = setTimeout(() => {
      if (graceMs === STOP_GRACE_MS) this.#logger.log(`${name} did not stop in time; killing it.`);
      entry.child.kill("SIGKILL");
    }, graceMs);
    await entry.ended;
    clearTimeout(force);
  }

  /** The last lines that a process has logged, indented. */
  #lastLinesOf(name: string): string {
    const lines = this.#logger.lastLines(name).map((line) => `    ${line}`);
    return lines.join("\n");
  }
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

async function waitUntilReady(service: Service): Promise<string | undefined> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (await service.isReady().catch(() => false)) return undefined;
    await Bun.sleep(READY_POLL_MS);
  }
  return `it was not ready within ${READY_TIMEOUT_MS / 1_000} s`;
}

/** Whether a GET of the URL responds with a 2xx status. */
export const respondsOk = async (url: string): Promise<boolean> =>
  (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;

/**
 * Makes a command that the kernel ends when the process that has started it ends for any reason,
 * also by `kill -9` (prctl(2), PR_SET_PDEATHSIG). It need not cooperate, so this also works for
 * servers of other projects. `signal` is the one that it gets then.
 */
export const endWithParent = (
  command: readonly string[],
  signal: "KILL" | "QUIT" = "KILL",
): [string, ...string[]] => [
  "setpriv",
  "--pdeathsig",
  signal,
  "sh",
  "-c",
  // A parent that ended before that will send nothing.
  '[ "$PPID" = "$0" ] && exec "$@"',
  String(process.pid),
  ...command,
];

/**
 * Runs the stack's processes: starts them, restarts a crashed one, stops them in order. Each runs
 * in its own session, so that Ctrl-C in a terminal signals only the supervisor.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { Logger } from "./logger.ts";
import type { ProcessRegistry } from "./process-registry.ts";
import type { Watchdog } from "./watchdog.ts";

export type Service = {
  name: string;
  command: readonly [string, ...string[]];
  env: Record<string, string>;
  /** User to run it as, if it is not the stack's. */
  user?: { uid: number; gid: number } | undefined;
  /** Signal for a graceful stop; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
  /**
   * In development: after it has ended by itself, it waits for {@link Supervisor.reload} instead of
   * a restart.
   */
  waitsForReload?: boolean;
  /** Whether it is ready; may throw while it is starting. */
  isReady: () => Promise<boolean>;
};

export type Supervisor = {
  /**
   * Starts a service and waits until it is ready; rejects with the reason if it fails to start.
   * Nothing starts after `stop`.
   */
  start(service: Service): Promise<void>;
  /**
   * Restarts a service with its current code; kills it if it does not stop within
   * `RELOAD_GRACE_MS`.
   */
  reload(name: string): Promise<void>;
  /** Stops the named services, one group after the other. */
  stop(groups: readonly (readonly string[])[]): Promise<void>;
  pidOf(name: string): number | null;
};

type SupervisorDeps = {
  logger: Logger;
  processes: ProcessRegistry;
  /** Ends the processes if the supervisor is killed. */
  watchdog: Watchdog;
  /** Called after a crashed service was restarted and has a new pid. */
  onRestart: () => void;
  /** Called once if a service cannot be kept running. */
  onFatal: (reason: string) => void;
};

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const STOP_GRACE_MS = 10_000;

/**
 * Grace period of a reload, short because a person waits for the page; killed processes lose no
 * data.
 */
const RELOAD_GRACE_MS = 500;

/** After this many crashes within this time the supervisor gives up. */
const CRASHES_MAX = 5;
const CRASHES_WITHIN_MS = 60_000;
const RESTART_DELAY_MS = { first: 500, max: 10_000 };

type Running = { service: Service; child: ChildProcess; ended: Promise<string>; crashes: number[] };

export function createSupervisor(deps: SupervisorDeps): Supervisor {
  const { logger, onRestart } = deps;
  const { running, stopping, launch } = createLauncher(deps);
  let closed = false;

  async function start(service: Service): Promise<void> {
    // Another service has failed to start.
    if (closed) return;
    const started = Date.now();
    logger.log(`Starting ${service.name} …`);
    const { ended } = launch(service, []);
    const failure = await Promise.race([
      waitUntilReady(service),
      ended.then((reason) => `it ended (${reason})`),
    ]);
    if (failure !== undefined) {
      stopping.add(service.name);
      const lines = formatLastLines(logger, service.name);
      throw new Error(`${service.name} failed to start: ${failure}.\n${lines}`);
    }
    logger.log(`${service.name} is ready (${seconds(Date.now() - started)}).`);
  }

  async function stopOne(name: string, graceMs = STOP_GRACE_MS): Promise<void> {
    stopping.add(name);
    const entry = running.get(name);
    if (entry === undefined || entry.child.exitCode !== null || entry.child.signalCode !== null)
      return;
    await endProcess(entry, graceMs, logger);
  }

  return {
    start,
    async reload(name) {
      const service = running.get(name)?.service;
      if (service === undefined || closed) return;
      await stopOne(name, RELOAD_GRACE_MS);
      // The whole stack may have been stopped in the meantime.
      if (closed) return;
      stopping.delete(name);
      launch(service, []);
      onRestart();
    },
    async stop(groups) {
      closed = true;
      // None of them may be restarted while the others stop.
      for (const name of groups.flat()) stopping.add(name);
      for (const names of groups) await Promise.all(names.map((name) => stopOne(name)));
    },
    pidOf: (name) => running.get(name)?.child.pid ?? null,
  };
}

/** Keeps processes running: launches them, and restarts a crashed one. */
function createLauncher({ logger, processes, watchdog, onRestart, onFatal }: SupervisorDeps) {
  const running = new Map<string, Running>();
  const stopping = new Set<string>();

  function launch(service: Service, crashes: number[]): Running {
    const env = { ...service.env, ...watchdog.mark };
    const { child, ended } = spawnLogged({ ...service, env }, logger);
    const { pid } = child;
    if (pid !== undefined) {
      watchdog.watch(service.name, pid);
      processes.add(service.name, pid);
    }
    const entry: Running = { service, child, ended, crashes };
    running.set(service.name, entry);
    void ended.then(async (reason) => {
      if (pid !== undefined) processes.remove(pid);
      if (stopping.has(service.name)) return;
      if (service.waitsForReload === true)
        logger.log(`${service.name} ended (${reason}); waiting for its code to change.`);
      else await restart(entry, reason);
    });
    return entry;
  }

  async function restart({ service, crashes }: Running, reason: string): Promise<void> {
    const recent = [...crashes, Date.now()].filter((at) => at > Date.now() - CRASHES_WITHIN_MS);
    logger.log(`${service.name} ended (${reason}).`);
    if (recent.length >= CRASHES_MAX) {
      onFatal(describeCrashes(logger, service.name, recent.length));
      return;
    }
    const delay = Math.min(RESTART_DELAY_MS.first * 2 ** (recent.length - 1), RESTART_DELAY_MS.max);
    await Bun.sleep(delay);
    if (stopping.has(service.name)) return;
    logger.log(`Restarting ${service.name} …`);
    launch(service, recent);
    onRestart();
  }

  return {
    running,
    /** The services that are not restarted. */
    stopping,
    launch,
  };
}

/** Ends a process; kills it after the grace period. */
async function endProcess(
  { service, child, ended }: Running,
  graceMs: number,
  logger: Logger,
): Promise<void> {
  child.kill(service.stopSignal ?? "SIGTERM");
  const force = setTimeout(() => {
    if (graceMs === STOP_GRACE_MS) logger.log(`${service.name} did not stop in time; killing it.`);
    child.kill("SIGKILL");
  }, graceMs);
  await ended;
  clearTimeout(force);
}

/** The last lines that a process has logged, indented. */
const formatLastLines = (logger: Logger, name: string): string =>
  logger
    .lastLines(name)
    .map((line) => `    ${line}`)
    .join("\n");

function describeCrashes(logger: Logger, name: string, crashes: number): string {
  const within = CRASHES_WITHIN_MS / 1_000;
  return `${name} ended ${crashes} times within ${within} s.\n${formatLastLines(logger, name)}`;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

type Command = Pick<Service, "name" | "command" | "env" | "user">;

function spawnLogged({ name, command, env, user }: Command, logger: Logger) {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => logger.logProcess(name, line));
  }
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return { child, ended };
}

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

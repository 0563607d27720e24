/**
 * Runs the stack's processes: starts them, starts a crashed one again, stops them in order. Each runs
 * in a session of its own, so that a terminal's Ctrl-C reaches the supervisor alone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { Output } from "./output.ts";
import type { ProcessFile } from "./processes.ts";

export type Service = {
  name: string;
  command: readonly [string, ...string[]];
  env: Record<string, string>;
  /** Whom to run it as, where that is not the user of the stack. */
  user?: { uid: number; gid: number } | undefined;
  /** What asks it to stop. */
  stopSignal?: NodeJS.Signals;
  /** Whether it does its work; may throw when it cannot be asked yet. */
  isReady: () => Promise<boolean>;
};

export type Supervisor = {
  /** Starts a service and waits until it is ready; rejects with the reason when it does not get there. */
  start(service: Service): Promise<void>;
  /** Runs a command to its end; rejects when it fails. */
  runOnce(service: Pick<Service, "name" | "command" | "env">): Promise<void>;
  /** Stops the named services, one after the other. */
  stop(names: readonly string[]): Promise<void>;
  pidOf(name: string): number | null;
};

type SupervisorDeps = {
  output: Output;
  processes: ProcessFile;
  /** Told after a crashed service runs again, under a new number. */
  onRestart: () => void;
  /** Told, once, when a service cannot be kept running. */
  onFatal: (reason: string) => void;
};

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const STOP_PATIENCE_MS = 10_000;

/** A service that ends this often within this time is given up. */
const CRASHES_MAX = 5;
const CRASHES_WITHIN_MS = 60_000;
const RESTART_DELAY_MS = { first: 500, max: 10_000 };

type Running = { service: Service; child: ChildProcess; ended: Promise<string>; crashes: number[] };

export function createSupervisor({
  output,
  processes,
  onRestart,
  onFatal,
}: SupervisorDeps): Supervisor {
  const running = new Map<string, Running>();
  const stopping = new Set<string>();

  function launch(service: Service, crashes: number[]): Running {
    const { child, ended } = spawnLogged(service, output);
    const { pid } = child;
    if (pid !== undefined) processes.add(service.name, pid);
    const entry: Running = { service, child, ended, crashes };
    running.set(service.name, entry);
    void ended.then(async (how) => {
      if (pid !== undefined) processes.remove(pid);
      if (!stopping.has(service.name)) await restart(entry, how);
    });
    return entry;
  }

  async function restart({ service, crashes }: Running, how: string): Promise<void> {
    const recent = [...crashes, Date.now()].filter((at) => at > Date.now() - CRASHES_WITHIN_MS);
    output.say(`${service.name} ended (${how}).`);
    if (recent.length >= CRASHES_MAX) {
      const seconds = CRASHES_WITHIN_MS / 1_000;
      onFatal(
        `${service.name} ended ${recent.length} times within ${seconds} s.\n${lastLines(service.name)}`,
      );
      return;
    }
    const delay = Math.min(RESTART_DELAY_MS.first * 2 ** (recent.length - 1), RESTART_DELAY_MS.max);
    await Bun.sleep(delay);
    if (stopping.has(service.name)) return;
    output.say(`Starting ${service.name} again …`);
    launch(service, recent);
    onRestart();
  }

  async function start(service: Service): Promise<void> {
    const started = Date.now();
    output.say(`Starting ${service.name} …`);
    const { ended } = launch(service, []);
    const failed = await Promise.race([
      untilReady(service),
      ended.then((how) => `it ended (${how})`),
    ]);
    if (failed !== undefined) {
      stopping.add(service.name);
      throw new Error(`${service.name} did not get ready: ${failed}.\n${lastLines(service.name)}`);
    }
    output.say(`${service.name} is ready (${seconds(Date.now() - started)}).`);
  }

  async function stopOne(name: string): Promise<void> {
    stopping.add(name);
    const entry = running.get(name);
    if (entry === undefined || entry.child.exitCode !== null || entry.child.signalCode !== null)
      return;
    entry.child.kill(entry.service.stopSignal ?? "SIGTERM");
    const force = setTimeout(() => {
      output.say(`${name} does not stop; ending it by force.`);
      entry.child.kill("SIGKILL");
    }, STOP_PATIENCE_MS);
    await entry.ended;
    clearTimeout(force);
  }

  const lastLines = (name: string): string =>
    output
      .last(name)
      .map((line) => `    ${line}`)
      .join("\n");

  return {
    start,
    async runOnce(service) {
      const { child, ended } = spawnLogged(service, output);
      const how = await ended;
      if (child.exitCode !== 0)
        throw new Error(`${service.name} failed (${how}).\n${lastLines(service.name)}`);
    },
    async stop(names) {
      // None of them may be started again while the others stop.
      for (const name of names) stopping.add(name);
      for (const name of names) await stopOne(name);
    },
    pidOf: (name) => running.get(name)?.child.pid ?? null,
  };
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function spawnLogged(
  { name, command, env, user }: Pick<Service, "name" | "command" | "env" | "user">,
  output: Output,
) {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => output.line(name, line));
  }
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return { child, ended };
}

async function untilReady(service: Service): Promise<string | undefined> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (await service.isReady().catch(() => false)) return undefined;
    await Bun.sleep(READY_POLL_MS);
  }
  return `not within ${READY_TIMEOUT_MS / 1_000} s`;
}

/** Whether a URL answers with a success. */
export const answersOk = async (url: string): Promise<boolean> =>
  (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;

/** The services of a running stack: what they warn of, and how they end. */
import * as z from "zod";

import { eventually } from "./eventually.ts";
import { isRunning } from "./process-usage.ts";
import { readMetric } from "./prometheus.ts";
import type { Stack, StackInfo } from "./stack.ts";

/** How long a process may take to end, and another one to start. */
const ENDED_MS = 10_000;
const STARTED_MS = 60_000;

/** A paused process accepts connections and does not respond. */
const RESPONSE_MS = 2_000;

const readinessSchema = z.object({
  parts: z.record(z.string(), z.string()).default({}),
  warnings: z.record(z.string(), z.string()).default({}),
});

/** What a process says of itself. Throws when it does not respond. */
export async function readReadiness(metricsUrl: string): Promise<z.output<typeof readinessSchema>> {
  const signal = AbortSignal.timeout(RESPONSE_MS);
  const response = await fetch(new URL("/readyz", metricsUrl), { signal });
  return readinessSchema.parse(await response.json());
}

/** What a process warns of. */
export const readWarnings = async (metricsUrl: string): Promise<Record<string, string>> =>
  (await readReadiness(metricsUrl)).warnings;

export type ServiceName = keyof StackInfo["pids"];

/** The process id of a service that runs. */
export function pidOf(stack: Stack, name: ServiceName): number {
  const pid = stack.info().pids[name];
  if (pid === null) throw new Error(`${name} is not running.`);
  return pid;
}

/** Does something while the supervisor starts nothing; then waits until it has restarted these. */
export async function withoutSupervisor<T>(
  stack: Stack,
  names: readonly ServiceName[],
  work: () => Promise<T>,
): Promise<T> {
  const pids = new Map(names.map((name) => [name, pidOf(stack, name)]));
  process.kill(stack.supervisor.pid, "SIGSTOP");
  let result: T;
  try {
    result = await work();
  } finally {
    process.kill(stack.supervisor.pid, "SIGCONT");
  }
  for (const [name, pid] of pids) await waitUntilRestarted(stack, name, pid);
  return result;
}

/**
 * Ends services by a signal, and has the supervisor start them again when `meanwhile` has ended;
 * returns what that returns.
 */
export const endServices = <T>(
  stack: Stack,
  names: readonly ServiceName[],
  signal: NodeJS.Signals,
  meanwhile: () => Promise<T> | T,
): Promise<T> =>
  withoutSupervisor(stack, names, async () => {
    const pids = names.map((name) => pidOf(stack, name));
    for (const pid of pids) process.kill(pid, signal);
    for (const pid of pids) await waitUntilEnded(pid);
    return await meanwhile();
  });

/** Kills a service, and waits until the supervisor has started it again. */
export async function killService(stack: Stack, name: ServiceName): Promise<void> {
  const pid = pidOf(stack, name);
  process.kill(pid, "SIGKILL");
  await waitUntilRestarted(stack, name, pid);
}

/** Waits until a service runs that had this process id. */
export const waitUntilRestarted = (stack: Stack, name: ServiceName, pid: number): Promise<void> =>
  eventually(async () => {
    const now = stack.info().pids[name];
    if (now === null || now === pid || !isRunning(now))
      throw new Error(`${name} was not started again.`);
  }, STARTED_MS);

/** Waits until a process has ended. */
export const waitUntilEnded = (pid: number): Promise<void> =>
  eventually(async () => {
    if (isRunning(pid)) throw new Error(`Process ${pid} still runs.`);
  }, ENDED_MS);

/** Whether a worker is the one that stores clicks (docs/batches.md). */
export const isOwner = async (metricsUrl: string): Promise<boolean> =>
  (await readMetric(metricsUrl, "shorthop_worker_owner")) === 1;

/** Waits until a worker is the owner: another one takes over 10 s after an owner was killed. */
export const waitForOwner = (metricsUrl: () => string, withinMs = 60_000): Promise<void> =>
  eventually(async () => {
    if (!(await isOwner(metricsUrl()))) throw new Error("The worker does not take over.");
  }, withinMs);

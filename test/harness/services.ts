/** The services of a running stack: what they warn of, and how they end. */
import * as z from "zod";

import { eventually } from "./eventually.ts";
import type { Stack } from "./stack.ts";

/** How long a process may take to end. */
const ENDED_MS = 10_000;

const readinessSchema = z.object({ warnings: z.record(z.string(), z.string()).optional() });

/** What a process warns of. */
export async function readWarnings(metricsUrl: string): Promise<Record<string, string>> {
  const response = await fetch(new URL("/readyz", metricsUrl));
  return readinessSchema.parse(await response.json()).warnings ?? {};
}

/** Ends a service by a signal, and has the supervisor start it again when `meanwhile` has ended. */
export async function endService(
  stack: Stack,
  name: "nats" | "postgres",
  signal: NodeJS.Signals,
  meanwhile: () => Promise<void> | void,
): Promise<void> {
  const pid = stack.info().pids[name];
  if (pid === null) throw new Error(`${name} is not running.`);
  process.kill(stack.supervisor.pid, "SIGSTOP");
  process.kill(pid, signal);
  await waitUntilEnded(pid);
  await meanwhile();
  process.kill(stack.supervisor.pid, "SIGCONT");
}

export const killNats = (stack: Stack, meanwhile: () => Promise<void> | void): Promise<void> =>
  endService(stack, "nats", "SIGKILL", meanwhile);

/** Waits until a process has ended. */
export const waitUntilEnded = (pid: number): Promise<void> =>
  eventually(async () => {
    if (isRunning(pid)) throw new Error(`Process ${pid} still runs.`);
  }, ENDED_MS);

/** Whether a process runs; a zombie, of which its parent has not heard, does not. */
function isRunning(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  const state = stdout.toString().trim();
  return state !== "" && !state.startsWith("Z");
}

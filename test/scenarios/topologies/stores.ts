/**
 * Ends processes and stores of a stack, has them start again when something was done to them, and
 * copies their files.
 */
import { existsSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../../harness/eventually.ts";
import { endServices, pidOf, type ServiceName, waitUntilEnded } from "../../harness/services.ts";
import type { Stack } from "../../harness/stack.ts";
import { copyFiles } from "../../harness/templates.ts";

const STARTED_MS = 60_000;

/** A process does not start while this file exists. */
export const heldPath = (dir: string, name: string): string => join(dir, `held-${name}`);

/**
 * Ends a process by a signal, and starts it again when `meanwhile` has ended; `dir` has the stack's
 * wrapper.
 */
export async function stopProcess(
  stack: Stack,
  dir: string,
  name: "api" | "worker" | "redirector",
  meanwhile: () => Promise<void>,
  signal: NodeJS.Signals,
): Promise<void> {
  const pid = pidOf(stack, name);
  writeFileSync(heldPath(dir, name), "");
  try {
    process.kill(pid, signal);
    await meanwhile();
  } finally {
    rmSync(heldPath(dir, name));
  }
  await waitUntilRestarted(stack, name, pid);
}

/** Waits until a process of the stack has another process id, and responds. */
async function waitUntilRestarted(stack: Stack, name: ServiceName, pid: number): Promise<void> {
  await eventually(async () => {
    const now = stack.info().pids[name];
    if (now === null || now === pid || !existsSync(`/proc/${now}`))
      throw new Error(`${name} was not started again.`);
  }, STARTED_MS);
}

/** Ends stores of the stack, and starts them again when `meanwhile` has ended. */
export async function stopStores(
  { stack }: { stack: Stack },
  names: readonly ServiceName[],
  meanwhile: () => Promise<void> | void,
): Promise<void> {
  const pids = names.map((name) => pidOf(stack, name));
  // PostgreSQL's other processes end with it only when it is asked to.
  const signal = names.includes("postgres") ? "SIGINT" : "SIGKILL";
  await endServices(stack, names, signal, meanwhile);
  for (const [i, name] of names.entries()) await waitUntilRestarted(stack, name, pids[i] ?? 0);
}

/**
 * Has a store that may end by itself start again only after `mend`, by which time it has ended: a
 * supervisor gives up when it ends again and again.
 */
export async function withoutSupervisor(
  { stack }: { stack: Stack },
  name: ServiceName,
  work: () => Promise<void>,
  mend: () => void,
): Promise<void> {
  const pid = pidOf(stack, name);
  process.kill(stack.supervisor.pid, "SIGSTOP");
  try {
    await work();
    if (existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
    await waitUntilEnded(pid);
    mend();
  } finally {
    process.kill(stack.supervisor.pid, "SIGCONT");
  }
  await waitUntilRestarted(stack, name, pid);
}

export type Store = "postgres" | "nats" | "clickhouse";

/** The folder with all data of a store of the stack. */
export function storeDir({ stack }: { stack: Stack }, store: Store): string {
  const folders = {
    postgres: join(stack.dataDir, "postgres", "data"),
    nats: join(stack.dataDir, "nats", "store"),
    clickhouse: join(stack.dataDir, "clickhouse"),
  };
  return realpathSync(folders[store]);
}

/** Copies a folder; returns the function that puts the copy in its place. */
export function copyAside(dir: string, copy: string): () => void {
  copyFiles(dir, copy);
  return () => {
    rmSync(dir, { recursive: true, force: true });
    copyFiles(copy, dir);
  };
}

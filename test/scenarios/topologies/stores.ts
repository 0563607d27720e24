/**
 * Ends processes and stores of a stack, has them start again when something was done to them, and
 * copies their files.
 */
import { readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  endServices,
  pidOf,
  type ServiceName,
  waitUntilRestarted,
} from "../../harness/services.ts";
import type { Stack } from "../../harness/stack.ts";
import { copyFiles } from "../../harness/templates.ts";

export type ProcessName = "api" | "worker" | "redirector";

/** A process does not start while this file exists. */
export const heldPath = (dir: string, name: string): string => join(dir, `held-${name}`);

/**
 * Ends a process by a signal, and starts it again when `meanwhile` has ended; returns what that
 * returns. `dir` has the stack's wrapper.
 */
export async function stopProcess<T>(
  { stack, dir }: { stack: Stack; dir: string },
  name: ProcessName,
  meanwhile: () => Promise<T> | T,
  signal: NodeJS.Signals,
): Promise<T> {
  const pid = pidOf(stack, name);
  writeFileSync(heldPath(dir, name), "");
  let result: T;
  try {
    process.kill(pid, signal);
    result = await meanwhile();
  } finally {
    rmSync(heldPath(dir, name));
  }
  await waitUntilRestarted(stack, name, pid);
  return result;
}

/**
 * Ends stores of the stack, and starts them again when `meanwhile` has ended; returns what that
 * returns.
 */
export const stopStores = <T>(
  { stack }: { stack: Stack },
  names: readonly ServiceName[],
  meanwhile: () => Promise<T> | T,
): Promise<T> =>
  // PostgreSQL's other processes end with it only when it is asked to.
  endServices(stack, names, names.includes("postgres") ? "SIGINT" : "SIGKILL", meanwhile);

/** Starts stores again. */
export const restartStores = (at: { stack: Stack }, names: readonly ServiceName[]): Promise<void> =>
  stopStores(at, names, () => undefined);

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

/** The files with the messages of a stream of NATS, the oldest first. */
export function streamBlocks(at: { stack: Stack }, stream: string): string[] {
  const dir = join(storeDir(at, "nats"), "jetstream/$G/streams", stream, "msgs");
  return readdirSync(dir)
    .filter((name) => name.endsWith(".blk"))
    .toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((name) => join(dir, name));
}

/** Removes the contents of a folder. */
export function emptyFolder(dir: string): void {
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true });
}

/** Copies a folder; returns the function that puts the copy in its place. */
export function copyAside(dir: string, copy: string): () => void {
  rmSync(copy, { recursive: true, force: true });
  copyFiles(dir, copy);
  return () => {
    rmSync(dir, { recursive: true, force: true });
    copyFiles(copy, dir);
  };
}

/** Copies a store while it is stopped; returns what puts the copy in its place. */
export const copyStore = (at: { stack: Stack }, store: Store): Promise<() => void> =>
  stopStores(at, [store], () => {
    const dir = storeDir(at, store);
    return copyAside(dir, join(dirname(dir), `${store}-copy`));
  });

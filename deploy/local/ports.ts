/** Chooses ports: the preferred one if it is free, else any free one. */
import { randomInt } from "node:crypto";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

import { tryLockPort } from "../../shared/process-lock.ts";

export type ChosenPort = { port: number; /** The preferred port is in use. */ taken: boolean };

/**
 * Free ports are looked for below those that the kernel gives to outgoing connections
 * (`ip_local_port_range`, from 32768): one of those may be in use again before its server listens.
 */
const FREE_PORT_MIN = 10_000;
const FREE_PORT_END = 32_768;
const ATTEMPTS_MAX = 1_000;

/** After this long, the server that a port was chosen for listens, or never will. */
const CLAIM_MS = 60_000;

/** Chooses a port for each name; 0 prefers none. No port is chosen twice. */
export function choosePorts<Name extends string>(
  preferred: Record<Name, number>,
): Record<Name, ChosenPort> {
  const used = new Set<number>();
  const chosen = {} as Record<Name, ChosenPort>; // The loop fills it for every name.
  // Preferred ports first: a random port must not be one that another name prefers.
  const names = (Object.keys(preferred) as Name[]).toSorted((a, b) => preferred[b] - preferred[a]);
  for (const name of names) {
    const requested = preferred[name];
    const isFree = requested !== 0 && !used.has(requested) && takePreferred(requested);
    const port = isFree ? requested : findFreePort(used);
    used.add(port);
    chosen[name] = { port, taken: requested !== 0 && port !== requested };
  }
  return chosen;
}

/** Takes a preferred port from now on: its server may not listen yet when others look. */
function takePreferred(port: number): boolean {
  const lock = tryLockPort(port);
  if (lock === undefined) return false;
  if (canListen(port)) return true;
  lock[Symbol.dispose]();
  return false;
}

/** Finds a port on which nobody listens and which no other process found in the last minute. */
export function findFreePort(used: ReadonlySet<number> = new Set()): number {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(FREE_PORT_MIN, FREE_PORT_END);
    if (!used.has(port) && claim(port) && canListen(port)) return port;
  }
  throw new Error("There is no free port on this machine.");
}

/** Claims a port by a file that only one process can create. */
function claim(port: number): boolean {
  const dir = join(tmpdir(), `shorthop-ports-${userInfo().uid}`);
  const file = join(dir, String(port));
  mkdirSync(dir, { recursive: true });
  const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  try {
    writeFileSync(file, "", { flag: age > CLAIM_MS ? "w" : "wx" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Listens on all addresses, because a port is free only if no process listens on it at any address.
 */
function canListen(port: number): boolean {
  try {
    Bun.listen({ hostname: "0.0.0.0", port, socket: { data: () => undefined } }).stop(true);
    return true;
  } catch {
    return false;
  }
}

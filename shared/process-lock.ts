/**
 * Locks between the processes of a machine. A lock is a name in Linux's abstract socket namespace:
 * the kernel releases it when its process ends, also by a crash.
 */
import { realpathSync } from "node:fs";

export type ProcessLock = Disposable;

/** Time between two attempts to take a lock. */
const POLL_MS = 100;

/**
 * Takes the lock of a folder for one `purpose`, e.g. `journal`, until it is disposed or the process
 * ends. Returns undefined when another process has it. Throws when the folder does not exist.
 */
export function tryLock(purpose: string, dir: string): ProcessLock | undefined {
  const folder = new Bun.CryptoHasher("sha256").update(realpathSync(dir)).digest("hex");
  return take(`${purpose}:${folder}`);
}

/**
 * Takes a port of this machine for a server that is going to listen there, until the lock is
 * disposed or the process ends. Returns undefined when it is taken, also by this process.
 */
export const tryLockPort = (port: number): ProcessLock | undefined => take(`port:${port}`);

function take(name: string): ProcessLock | undefined {
  try {
    const server = Bun.listen({
      unix: `\0shorthop-${name}`,
      socket: { data: (socket) => void socket.end() },
    });
    server.unref();
    return { [Symbol.dispose]: () => server.stop(true) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return undefined;
    throw error;
  }
}

/** Waits for the lock of a folder, without a timeout. */
export async function lock(purpose: string, dir: string): Promise<ProcessLock> {
  for (;;) {
    const taken = tryLock(purpose, dir);
    if (taken !== undefined) return taken;
    await Bun.sleep(POLL_MS);
  }
}

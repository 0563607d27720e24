/**
 * Locks between the processes of a machine. A lock is a name in Linux's abstract socket namespace:
 * the kernel releases it when its process ends, also by a crash. Files and folders that several
 * processes share are made by the first that needs one.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

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

/**
 * Creates the file or folder `path` unless it exists; other processes that need it wait meanwhile.
 * `make` writes it under a temporary name, so that no process uses a part of it; leftovers of a
 * killed process are removed. Throws what `make` throws.
 */
export async function makeOnce(
  path: string,
  make: (unfinished: string) => Promise<unknown> | void,
): Promise<void> {
  if (existsSync(path)) return;
  const dir = dirname(path);
  mkdirSync(dir, { recursive: true });
  using _ = await lock(`make-${basename(path)}`, dir);
  if (existsSync(path)) return;
  const unfinished = `${path}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  await make(unfinished);
  renameSync(unfinished, path);
}

/**
 * A short hash of the version of Bun, and of the names and contents of all files in `root` that
 * match the globs.
 */
export function hashFiles(root: string, globs: readonly string[]): string {
  const hash = createHash("sha256").update(Bun.version);
  for (const glob of globs) {
    const paths = [...new Bun.Glob(glob).scanSync({ cwd: root, onlyFiles: true })];
    for (const path of paths.toSorted((a, b) => (a < b ? -1 : 1)))
      hash.update(path).update(readFileSync(join(root, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** File permissions: the stack's data is readable only by its own user. */
import { chmodSync, existsSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Files of the stack and of its processes have mode 0600, folders 0700. */
export const PRIVATE_UMASK = 0o077;

const PRIVATE_MODE = 0o700;

/** Others may traverse the folder, but not list it. */
export const TRAVERSABLE_MODE = 0o711;

/**
 * Creates the data directory, or restricts an existing one and its folders. Root's stays
 * traversable, because PostgreSQL refuses to run as root and must reach its own folder inside.
 */
export function makePrivate(dataDir: string, folders: readonly string[]): void {
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, process.getuid?.() === 0 ? TRAVERSABLE_MODE : PRIVATE_MODE);
  for (const path of folders.map((name) => join(dataDir, name))) {
    // PostgreSQL's folder may be a link to one that its user can reach.
    if (existsSync(path) && !lstatSync(path).isSymbolicLink()) chmodSync(path, PRIVATE_MODE);
  }
}

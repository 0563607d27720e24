/** Files and folders that several processes share, and that the first one that needs them makes. */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";

import { lock } from "./process-lock.ts";

/**
 * Makes the file or folder `path` unless it exists; processes that need it at once wait for the one that makes it.
 * `make` writes it to another name, so that nobody sees, runs or keeps a part of it; what a killed process left there
 * is removed. Throws what `make` throws.
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

/**
 * Creates files and folders that several processes share: the first process that needs one creates
 * it.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";

import { lock } from "./process-lock.ts";

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

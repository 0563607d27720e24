/**
 * Creates files and folders that several processes share: the first process that needs one creates
 * it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

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

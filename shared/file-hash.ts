/** Hashes source files, to name what is built from them, so that a change causes another build. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

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

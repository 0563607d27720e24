/** A copy of the project that a test may change. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/**
 * Copies all files that git does not ignore; shares packages and downloaded programs. Returns the
 * folder.
 */
export function copyProject(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), "shorthop-copy-"));
  const { stdout } = Bun.spawnSync(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    { cwd: root },
  );
  for (const path of stdout.toString().trim().split("\n")) {
    // Deleted, but not committed yet.
    if (!existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  mkdirSync(join(root, ".local"), { recursive: true });
  for (const shared of ["node_modules", ".local"])
    symlinkSync(join(root, shared), join(copy, shared));
  return copy;
}

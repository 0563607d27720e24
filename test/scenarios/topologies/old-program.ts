/** A program of the past, from the history of the repository. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Extracts the last version without `path` into a temporary folder, which shares packages and
 * downloaded programs with the repository; undefined if the repository does not have it. The
 * packages it needs must not have changed. A version is named by what it lacks, as hashes of
 * commits change when a history is rewritten.
 */
export function extractProgramBefore(
  repository: string,
  path: string,
): { root: string; remove: () => void } | undefined {
  const first = findFirstCommit(repository, path);
  if (first === undefined) return undefined;
  const archive = Bun.spawnSync(["git", "archive", `${first}^`], { cwd: repository });
  if (!archive.success) return undefined;
  const root = mkdtempSync(join(tmpdir(), "shorthop-old-"));
  const remove = (): void => rmSync(root, { recursive: true });
  const { success, stderr } = Bun.spawnSync(["tar", "-x", "-C", root], { stdin: archive.stdout });
  if (!success) {
    remove();
    throw new Error(`tar: ${stderr.toString()}`);
  }
  mkdirSync(join(repository, ".local"), { recursive: true });
  for (const shared of ["node_modules", ".local"])
    symlinkSync(join(repository, shared), join(root, shared));
  return { root, remove };
}

/** Whether {@link extractProgramBefore} finds a program. */
export const hasProgramBefore = (repository: string, path: string): boolean =>
  findFirstCommit(repository, path) !== undefined;

/** The commit that added a file, if its parent is in the history. */
function findFirstCommit(repository: string, path: string): string | undefined {
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: repository });
  const { success, stdout } = git("log", "--diff-filter=A", "--format=%H", "--", path);
  const first = success ? (stdout.toString().trim().split("\n").pop() ?? "") : "";
  return first !== "" && git("rev-parse", "--verify", `${first}^`).success ? first : undefined;
}

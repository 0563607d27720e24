/**
 * Mutations of a copy of the project: a test that passes without a protection would not prove
 * anything about it.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { PROJECT_DIR } from "./stack.ts";

export type Mutation = {
  file: string;
  /** Texts that each occur exactly once in the file, and what they become. */
  replace: readonly (readonly [from: string, to: string])[];
};

/**
 * Calls `run` with the folder of a copy of the project that is mutated, and deletes the copy
 * afterwards.
 */
export async function withMutation<T>(
  mutation: Mutation,
  run: (copy: string) => Promise<T>,
): Promise<T> {
  const copy = copyProject(PROJECT_DIR);
  try {
    writeFileSync(join(copy, mutation.file), applyMutation(copy, mutation));
    return await run(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Returns the mutated text of the file. Throws unless each text occurs exactly once. */
export function applyMutation(dir: string, { file, replace }: Mutation): string {
  let text = readFileSync(join(dir, file), "utf8");
  for (const [from, to] of replace) {
    if (text.split(from).length !== 2)
      throw new Error(`"${from}" must occur exactly once in ${file}.`);
    text = text.replace(from, () => to);
  }
  return text;
}

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

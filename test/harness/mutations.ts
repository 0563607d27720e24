/**
 * Mutations of a copy of the project: a test that passes without a protection would not prove
 * anything about it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { copyProject } from "./project-copy.ts";
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

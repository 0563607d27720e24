/** Runs programs of the project to their end. */
import { commandOf } from "./executable.ts";
import { PROJECT_DIR } from "./stack.ts";

/**
 * Runs a program of a project folder, with further variables; returns what it printed, and throws
 * when it fails.
 */
export async function runProgram(
  words: readonly string[],
  env: Record<string, string>,
  root = PROJECT_DIR,
): Promise<string> {
  const child = Bun.spawn(await commandOf(words, root), {
    cwd: root,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const stdout = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${words.join(" ")} failed:\n${stdout}`);
  return stdout;
}

/**
 * The processes of the product as one executable, which stacks of tests run: reading and compiling
 * the sources again takes most of a second of a core for each API process.
 */
import { join } from "node:path";

import { buildExecutable } from "../../deploy/build-executable.ts";
import { hashFiles } from "../../shared/process-lock.ts";
import { makeTemplate } from "./templates.ts";

const ROOT = join(import.meta.dir, "../..");

const SOURCES = ["{api,cli,worker,redirector,shared,deploy}/**/*", "package-lock.json"];

let found: Promise<string> | undefined;

/**
 * Returns the path of the executable. It is built once per state of the sources, which a process
 * reads once.
 */
export const findExecutable = (): Promise<string> => (found ??= makeExecutable());

const PROCESSES = new Set(["api", "worker", "redirector"]);

/**
 * The command that runs a process, such as `api migrate`, or a command of the operator, such as
 * `links resync`: of this project the executable, of another project folder the sources.
 */
export async function commandOf(words: readonly string[], root = ROOT): Promise<string[]> {
  if (root === ROOT) return [await findExecutable(), ...words];
  const [name = "", ...further] = words;
  return PROCESSES.has(name)
    ? [process.execPath, join(root, `${name}/main.ts`), ...further]
    : [process.execPath, join(root, "cli/main.ts"), ...words];
}

async function makeExecutable(): Promise<string> {
  const path = join(ROOT, ".local/test-executable", hashFiles(ROOT, SOURCES));
  await makeTemplate(path, async (unfinished) => buildExecutable(unfinished, { bytecode: true }));
  return path;
}

/**
 * Runs a program of a project folder, with further variables; returns what it printed, and throws
 * when it fails.
 */
export async function runProgram(
  words: readonly string[],
  env: Record<string, string>,
  root = ROOT,
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

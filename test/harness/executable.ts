/**
 * The processes of the product as one executable, which stacks of tests run: reading and compiling the sources again takes
 * most of a second of a core for each API process.
 */
import { join } from "node:path";

import { buildExecutable } from "../../deploy/build-executable.ts";
import { hashFiles } from "../../shared/file-hash.ts";
import { makeTemplate } from "./templates.ts";

const ROOT = join(import.meta.dir, "../..");

const SOURCES = ["{api,worker,redirector,shared,deploy}/**/*", "package-lock.json"];

let found: Promise<string> | undefined;

/** Returns the path of the executable. It is built once per state of the sources, which a process reads once. */
export const findExecutable = (): Promise<string> => (found ??= makeExecutable());

async function makeExecutable(): Promise<string> {
  const path = join(ROOT, ".local/test-executable", hashFiles(ROOT, SOURCES));
  await makeTemplate(path, async (unfinished) => buildExecutable(unfinished, { bytecode: true }));
  return path;
}

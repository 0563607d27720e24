/**
 * Builds the one executable of an installation: the processes and the command line, with the
 * runtime.
 */
import { join } from "node:path";

import { run } from "./packages/run.ts";

const ROOT = join(import.meta.dir, "..");

/**
 * Some libraries put more details into their errors unless NODE_ENV is "production". Some read it
 * at build time, which needs the definition; others read it at run time, which needs the banner.
 */
const PRODUCTION = [
  "--define=process.env.NODE_ENV='production'",
  '--banner=process.env["NODE_" + "ENV"] ??= "production";',
];

/**
 * The paths of CommonJS modules, which no library of ours reads files from. Without these
 * definitions the executable would contain the folder of the checkout, and differ with it.
 */
const NOWHERE = ["--define=__dirname='/'", "--define=__filename='/'"];

const ENTRIES = [
  "deploy/executable.ts",
  "api/links-snapshots/snapshot.worker.ts",
  "redirector/journal/publisher.worker.ts",
  "redirector/links/links.worker.ts",
  "redirector/links/slow-reads.worker.ts",
];

/**
 * Writes the executable to `outfile`. With `bytecode` it is an eighth larger, and its processes
 * start in half of the time. `runtime` is the path of Bun for another architecture.
 */
export function buildExecutable(
  outfile: string,
  { bytecode = false, runtime }: { bytecode?: boolean; runtime?: string } = {},
): void {
  // Threads are started by the paths of their modules relative to this root.
  const options = ["--compile", ...PRODUCTION, ...NOWHERE, "--root", "."];
  if (runtime !== undefined) options.push(`--compile-executable-path=${runtime}`);
  if (bytecode) options.push("--bytecode", "--format=esm");
  run([process.execPath, "build", ...options, ...ENTRIES, "--outfile", outfile], ROOT);
}

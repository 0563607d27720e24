#!/usr/bin/env bun
/**
 * The operator's command line. Prints results to standard output (as JSON with `--json`) and
 * messages to standard error. Exit codes: 0 success, 1 failure, 2 usage error.
 */
import { CommanderError } from "commander";

import { buildProgram } from "./program.ts";

/** `admin` is optional: `shorthop admin …` and `bun run admin -- …` are equivalent. */
const args = process.argv.slice(2);
const words = args[0] === "admin" ? args.slice(1) : args;

try {
  await buildProgram(process.env).parseAsync(words, { from: "user" });
} catch (error) {
  // Commander has already printed the usage error. Showing help exits with 0.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

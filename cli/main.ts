#!/usr/bin/env bun
/**
 * The operator's command line. Prints results to standard output (as JSON with `--json`) and
 * messages to standard error. Exit codes: 0 success, 1 failure, 2 usage error.
 */
import { CommanderError } from "commander";

import { buildProgram } from "./program.ts";

/** What a terminal would take for commands, but for line feeds. */
const CONTROLS = /(?!\n)[\p{Cc}\p{Bidi_Control}]/gu;

/** `admin` is optional: `shorthop admin …` and `bun run admin -- …` are equivalent. */
const args = process.argv.slice(2);
const words = args[0] === "admin" ? args.slice(1) : args;

try {
  await buildProgram(process.env).parseAsync(words, { from: "user" });
} catch (error) {
  // Commander has already printed the usage error. Showing help exits with 0.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  const message = error instanceof Error ? error.message : String(error);
  // It may have a text of somebody else, such as a server that links are imported from.
  console.error(message.replaceAll(CONTROLS, " "));
  process.exit(1);
}

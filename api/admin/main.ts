#!/usr/bin/env bun
/**
 * The operator's command line. Results go to standard output, as JSON with `--json`; messages go to
 * standard error. Exit codes: 0 done, 1 failed, 2 wrong use.
 */
import { Command, CommanderError } from "commander";

import { addAccountCommands } from "./accounts.ts";
import { addDlqCommands } from "./dlq.ts";
import { addKeyCommands } from "./keys.ts";
import { addLinkCommands } from "./links.ts";
import { createWithDatabase, createWithNats } from "./run.ts";

// Commands inherit this when they are added, so it comes first.
const program = new Command("shorthop admin")
  .description("Manage accounts, API keys, links and clicks that were set aside.")
  .showHelpAfterError()
  .exitOverride();
const withDatabase = createWithDatabase(process.env);
addAccountCommands(program, withDatabase);
addKeyCommands(program, withDatabase);
addLinkCommands(program, withDatabase);
addDlqCommands(program, createWithNats(process.env));

/** `shorthop admin …` and `bun run admin -- …` mean the same. */
const args = process.argv.slice(2);
const words = args[0] === "admin" ? args.slice(1) : args;

try {
  await program.parseAsync(words, { from: "user" });
} catch (error) {
  // Commander has already told what was wrong with the use; its help exits are successes.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

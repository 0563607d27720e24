#!/usr/bin/env bun
/**
 * The operator's command line. Results go to standard output, as JSON with `--json`; messages go to
 * standard error. Exit codes: 0 done, 1 failed, 2 wrong use.
 */
import { Command, CommanderError } from "commander";

import { version } from "../../shared/version.ts";
import { addAccountCommands } from "./accounts.ts";
import { addClickCommands } from "./clicks.ts";
import { addDlqCommands } from "./dlq.ts";
import { addKeyCommands } from "./keys.ts";
import { addLinkCommands } from "./links.ts";
import { addProcessCommands } from "./processes.ts";
import { createWithClickHouse, createWithDatabase, createWithNats } from "./run.ts";
import { findUrl } from "./surroundings.ts";
import { addUserCommands } from "./users.ts";

// Commands inherit this when they are added, so it comes first.
const program = new Command("shorthop")
  .version(version)
  .description("Manage a Shorthop installation. Every command may follow the word `admin`.")
  .showHelpAfterError()
  .exitOverride();
const withDatabase = createWithDatabase(process.env);
addAccountCommands(program, withDatabase);
addKeyCommands(program, withDatabase);
addUserCommands(program, withDatabase);
addLinkCommands(program, withDatabase);
const withNats = createWithNats(process.env);
addDlqCommands(program, withNats);
addClickCommands(program, {
  withDatabase,
  withNats,
  withClickHouse: createWithClickHouse(process.env),
  defaultRedirectors: () => findUrl(process.env, "REDIRECTOR_METRICS_URL"),
});

addProcessCommands(program);

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

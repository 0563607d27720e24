/** All commands, for an environment and a terminal. */
import { Command, type OutputConfiguration } from "commander";

import { addCompletionCommand } from "./completion.ts";
import { addLinkCommands } from "./links.ts";
import { addListenCommand } from "./listen.ts";
import { addMcpCommand } from "./mcp.ts";
import { addLoginCommands, Settings, version } from "./settings.ts";
import { addShortenCommand } from "./shorten.ts";
import { addStatsCommands } from "./stats.ts";
import type { Environment, Terminal } from "./terminal.ts";

/** Commander's help and usage errors go to `output`. */
export function buildProgram(
  env: Environment,
  terminal: Terminal,
  output: OutputConfiguration = {},
): Command {
  // Commands inherit these settings when they are added, so this comes first.
  const program = new Command("shorthop")
    .version(version)
    .description("Shorten links and read their statistics.")
    .addHelpText(
      "after",
      `
SHORTHOP_URL and SHORTHOP_KEY are used before what \`login\` has stored. With --json, each result is a line of JSON.
Exit codes: 0 success, 1 failure, also of some, 2 wrong usage, 3 no key that works.`,
    )
    .showHelpAfterError()
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(output);
  const settings = new Settings(env);
  addLoginCommands(program, settings, terminal);
  addShortenCommand(program, settings, terminal);
  addLinkCommands(program, settings, terminal);
  addStatsCommands(program, settings, terminal);
  addListenCommand(program, settings, terminal);
  addMcpCommand(program, settings, terminal);
  addCompletionCommand(program, terminal);
  return program;
}

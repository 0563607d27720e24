#!/usr/bin/env node
/**
 * The command line of those who shorten links. Results go to standard output and messages to
 * standard error. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 no key that works.
 */
import { CommanderError } from "commander";

import { ShorthopError } from "../../typescript/src/index.ts";
import { buildProgram } from "./program.ts";
import { SignedOut } from "./settings.ts";
import { Terminal } from "./terminal.ts";

const terminal = new Terminal(process.stdin, process.stdout, process.stderr, process.env);

async function run(words: readonly string[]): Promise<number> {
  try {
    await buildProgram(process.env, terminal).parseAsync(words, { from: "user" });
    return terminal.failed ? 1 : 0;
  } catch (error) {
    // Commander has already printed the usage error. Showing help exits with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.say(describe(error));
    return error instanceof SignedOut || isRefusedKey(error) ? 3 : 1;
  }
}

const isRefusedKey = (error: unknown): boolean =>
  error instanceof ShorthopError && ["unauthorized", "key_revoked"].includes(error.code);

function describe(error: unknown): string {
  if (!(error instanceof ShorthopError))
    return error instanceof Error ? error.message : String(error);
  const wait =
    error.retryAfterSeconds === undefined ? "" : ` Try again in ${error.retryAfterSeconds} s.`;
  const request = error.requestId === undefined ? "" : ` (request ${error.requestId})`;
  return `${error.message}${error.code === "rate_limited" ? "" : wait}${request}`;
}

// A reader that has seen enough, such as `head`, ends the command, which is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await run(process.argv.slice(2));

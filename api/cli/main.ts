#!/usr/bin/env bun
/**
 * The operator's command line. Prints results to standard output (as JSON with `--json`) and messages to
 * standard error. Exit codes: 0 success, 1 failure, 2 usage error.
 */
import { Command, CommanderError } from "commander";

import { version } from "../../shared/version.ts";
import { addAccountCommands } from "./accounts.ts";
import { addBackupCommands } from "./backup.ts";
import { addClickCommands } from "./clicks.ts";
import { createWithClickHouse, createWithDatabase, createWithNats } from "./context.ts";
import { addDlqCommands } from "./dlq.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addDomainCommands } from "./domains.ts";
import { findUrl } from "./endpoints.ts";
import { openEnvironmentFiles } from "./environment-files.ts";
import { addKeyCommands } from "./keys.ts";
import { addLinkCommands } from "./links.ts";
import { addGeoipCommand, addProcessCommands } from "./processes.ts";
import { addRegionCommands } from "./regions.ts";
import { addStatusCommand } from "./status.ts";
import { addUserCommands } from "./users.ts";

// Commands inherit these settings when they are added, so this comes first.
const program = new Command("shorthop")
  .version(version)
  .description(
    "Manage a Shorthop installation. The word `admin` before a command is optional. " +
      "`shorthop api`, `worker` and `redirector` run the processes, which systemd does.",
  )
  .addHelpText(
    "after",
    `
The stores are those of the environment (DATABASE_URL, NATS_URL, CLICKHOUSE_URL), else those of the files in
/etc/shorthop (SHORTHOP_CONFIG_DIR). Exit codes: 0 success, 1 failure, 2 wrong usage.`,
  )
  .showHelpAfterError()
  .exitOverride();
const withDatabase = createWithDatabase(process.env);
addAccountCommands(program, withDatabase);
addKeyCommands(program, withDatabase);
addUserCommands(program, withDatabase);
addLinkCommands(program, withDatabase);
addDomainCommands(program, withDatabase);
const withNats = createWithNats(process.env);
addStatusCommand(program, withNats);
addDlqCommands(program, withNats);
addRegionCommands(program, withNats);
const files = openEnvironmentFiles(process.env);
// Who owns the schemas may also read everything.
const ownerEnv = { ...files.read("migrate"), ...process.env };
addClickCommands(program, {
  withNats,
  withClickHouse: createWithClickHouse(process.env),
  withOwnersClickHouse: createWithClickHouse(ownerEnv),
  defaultRedirectors: () => findUrl(process.env, "REDIRECTOR_METRICS_URL"),
});
addBackupCommands(program, {
  withClickHouse: createWithClickHouse(ownerEnv),
  findDatabase: async () => ({
    url: await findUrl(ownerEnv, "DATABASE_URL"),
    env: process.env,
  }),
});
addProcessCommands(program, process.env, files);
addDoctorCommand(program, process.env, files);
addGeoipCommand(program, process.env, files);

/** `admin` is optional: `shorthop admin …` and `bun run admin -- …` are equivalent. */
const args = process.argv.slice(2);
const words = args[0] === "admin" ? args.slice(1) : args;

try {
  await program.parseAsync(words, { from: "user" });
} catch (error) {
  // Commander has already printed the usage error. Showing help exits with 0.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

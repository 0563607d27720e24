/** All commands of the command line. */
import { Command, type OutputConfiguration } from "commander";

import { version } from "../../shared/version.ts";
import { addAccountCommands } from "./accounts.ts";
import { addBackupCommands } from "./backup/commands.ts";
import { addCheckRollupsCommand } from "./check-rollups.ts";
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
import { addSetupCommand } from "./setup/command.ts";
import { addStatusCommand } from "./status.ts";
import { addUpgradeCommand } from "./upgrade/command.ts";
import { addUserCommands } from "./users.ts";

/**
 * Creates the command line for an environment. Commander's help and usage errors go to `output`.
 */
export function createProgram(
  env: Record<string, string | undefined>,
  output: OutputConfiguration = {},
): Command {
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
    // A command with commands of its own must not take their options.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(output);
  const withDatabase = createWithDatabase(env);
  addAccountCommands(program, withDatabase);
  addKeyCommands(program, withDatabase);
  addUserCommands(program, withDatabase, () => findUrl(env, "DASHBOARD_URL"));
  addDomainCommands(program, withDatabase);
  const withNats = createWithNats(env);
  addLinkCommands(program, env, withDatabase, withNats);
  addStatusCommand(program, withNats);
  addDlqCommands(program, withNats);
  addRegionCommands(program, withNats);
  const files = openEnvironmentFiles(env);
  // The owner of the schemas may also read all tables.
  const ownerEnv = { ...files.read("migrate"), ...env };
  addClickCommands(program, {
    withNats,
    withClickHouse: createWithClickHouse(env),
    defaultRedirectors: () => findUrl(env, "REDIRECTOR_METRICS_URL"),
  });
  addCheckRollupsCommand(program, createWithClickHouse(ownerEnv));
  const withClickHouse = createWithClickHouse(ownerEnv);
  addBackupCommands(program, { env: ownerEnv, files, withClickHouse });
  addSetupCommand(program, env);
  addProcessCommands(program, env, files);
  addUpgradeCommand(program, ownerEnv, files);
  addDoctorCommand(program, env, files);
  addGeoipCommand(program, env, files);
  return program;
}

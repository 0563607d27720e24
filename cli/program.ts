/** All commands of the command line. */
import { Command, type OutputConfiguration } from "commander";

import { version } from "../shared/version.ts";
import { addAccountCommands } from "./accounts/accounts.ts";
import { addDomainCommands } from "./accounts/domains.ts";
import { addKeyCommands } from "./accounts/keys.ts";
import { addUserCommands } from "./accounts/users.ts";
import { createWithClickHouse, createWithDatabase, createWithNats } from "./context.ts";
import { findUrl } from "./endpoints.ts";
import { openEnvironmentFiles } from "./environment-files.ts";
import { addBackupCommands } from "./machines/backup/commands.ts";
import { addCheckRollupsCommand } from "./machines/check-rollups.ts";
import { addClickCommands } from "./machines/clicks.ts";
import { addDlqCommands } from "./machines/dlq.ts";
import { addDoctorCommand } from "./machines/doctor.ts";
import { addLinkCommands } from "./machines/links.ts";
import { addGeoipCommand, addProcessCommands } from "./machines/processes.ts";
import { addRegionCommands } from "./machines/regions.ts";
import { addSetupCommand } from "./machines/setup/command.ts";
import { addStatusCommand } from "./machines/status.ts";
import { addUpgradeCommand } from "./machines/upgrade/command.ts";

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

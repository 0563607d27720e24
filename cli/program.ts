/** All commands of the command line. */
import { Command, type OutputConfiguration } from "commander";

import { version } from "../shared/version.ts";
import { addAccountCommands, addKeyCommands } from "./accounts/accounts.ts";
import { addImportCommands } from "./accounts/imports.ts";
import { addDomainCommands, addReviewCommands, addTakedownCommands } from "./accounts/takedowns.ts";
import { addUserCommands } from "./accounts/users.ts";
import { Installation } from "./installation.ts";
import { addAuditCommands } from "./machines/audit.ts";
import { addBackupCommands } from "./machines/backup/commands.ts";
import { addCheckRollupsCommand } from "./machines/check-rollups.ts";
import { addClickCommands } from "./machines/clicks.ts";
import { addDoctorCommand } from "./machines/doctor.ts";
import { addLinkCommands } from "./machines/links.ts";
import { addProcessCommands } from "./machines/processes.ts";
import { addRegionCommands } from "./machines/regions.ts";
import { addSetupCommand } from "./machines/setup/command.ts";
import { addStatusCommand } from "./machines/status.ts";
import { addUpgradeCommand } from "./machines/upgrade/upgrade.ts";

/** The command line for an environment. Commander's help and usage errors go to `output`. */
export function buildProgram(
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
  const installation = new Installation(env);
  addAccountCommands(program, installation);
  addKeyCommands(program, installation);
  addUserCommands(program, installation);
  addDomainCommands(program, installation);
  const links = program.command("links").description("Short links");
  addTakedownCommands(links, installation);
  addLinkCommands(links, installation);
  addReviewCommands(program, installation);
  addAuditCommands(program, installation);
  addImportCommands(program, installation);
  addStatusCommand(program, installation);
  addClickCommands(program, installation);
  addRegionCommands(program, installation);
  addCheckRollupsCommand(program, installation);
  addBackupCommands(program, installation);
  addSetupCommand(program, installation);
  addProcessCommands(program, installation);
  addUpgradeCommand(program, installation);
  addDoctorCommand(program, installation);
  return program;
}

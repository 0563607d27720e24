/**
 * `shorthop migrate` and `shorthop config check`: run the subcommand of each process, with the
 * installation's environment files if it has any, else with this process's environment.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import type { EnvironmentFiles } from "../environment-files.ts";

type Env = Record<string, string | undefined>;

/** The processes that own a database schema. */
const MIGRATING = ["api", "worker"];
export const PROCESSES = ["api", "worker", "redirector"];

/**
 * Variables that units set themselves. The parent directory of all journals replaces those of the
 * instances.
 */
const SET_BY_UNITS = { JOURNAL_DIR: "/var/lib" };

export function addProcessCommands(program: Command, env: Env, files: EnvironmentFiles): void {
  program
    .command("migrate")
    .description(
      "Bring the schemas of PostgreSQL and ClickHouse up to date; workers must be stopped. Reads migrate.env",
    )
    .action(() => runAll(MIGRATING, "migrate", () => ({ ...env, ...files.read("migrate") })));

  program
    .command("config")
    .description("Configuration")
    .command("check")
    .description(
      "Report every invalid variable, every server that cannot be reached and every missing privilege, by the files in /etc/shorthop or, without them, by the environment",
    )
    .argument("[processes...]", "only these: api, worker, redirector")
    .action((names: string[]) => {
      const installed = PROCESSES.filter(files.has);
      const checked = names.length > 0 ? names : installed;
      return runAll(checked.length > 0 ? checked : PROCESSES, "check", (name) =>
        environmentOf(name, env, files),
      );
    });
}

/** The environment of a process: the installation's file of this name if it exists. */
export const environmentOf = (name: string, env: Env, files: EnvironmentFiles): Env =>
  files.has(name) ? { ...SET_BY_UNITS, ...env, ...files.read(name) } : env;

/** Adds `geoip update`, which the worker implements. */
export function addGeoipCommand(program: Command, env: Env, files: EnvironmentFiles): void {
  program
    .command("geoip")
    .description("GeoIP data of the worker")
    .command("update")
    .description(
      "Download each database of GEOIP_DATABASES from its URL in GEOIP_URLS, and replace the file if it is newer and can " +
        "be read; a running worker then uses it. shorthop-geoip.timer does so once a week",
    )
    .action(() => runAll(["worker"], "geoip-update", (name) => environmentOf(name, env, files)));
}

/**
 * Brings both schemas up to date; throws when one cannot be. With `quiet`, logs to standard error.
 */
export async function runMigrations(
  env: Env,
  files: EnvironmentFiles,
  quiet: boolean,
): Promise<void> {
  const read = () => ({ ...env, ...files.read("migrate") });
  if (!(await runEach(MIGRATING, "migrate", read, quiet ? "stderr" : "stdout")))
    throw new Error("The schemas could not be brought up to date.");
}

async function runAll(
  names: readonly string[],
  subcommand: string,
  readEnvironment: (name: string) => Env,
): Promise<void> {
  if (!(await runEach(names, subcommand, readEnvironment, "stdout"))) process.exit(1);
}

/** Returns whether all of them succeeded. */
async function runEach(
  names: readonly string[],
  subcommand: string,
  readEnvironment: (name: string) => Env,
  output: "stdout" | "stderr",
): Promise<boolean> {
  let failed = false;
  for (const name of names) {
    process[output].write(`${name}:\n`);
    const child = Bun.spawn([...commandOf(name), subcommand], {
      env: readEnvironment(name),
      stdio: ["ignore", process[output].fd, "inherit"],
    });
    failed = (await child.exited) !== 0 || failed;
  }
  return !failed;
}

/**
 * A process is a word of the executable (deploy/executable.ts) or, in the source tree, a main
 * module.
 */
export function commandOf(name: string): string[] {
  if (!PROCESSES.includes(name)) throw new Error(`There is no process "${name}".`);
  const main = join(import.meta.dir, `../../${name}/main.ts`);
  return existsSync(main) ? [process.execPath, main] : [process.execPath, name];
}

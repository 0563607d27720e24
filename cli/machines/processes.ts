/**
 * `shorthop migrate`, `config check` and `geoip update`: run the subcommand of each process, with
 * the installation's environment files if it has any, else with this process's environment.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";

import type { Env, Installation } from "../installation.ts";

/** The processes that own a database schema. */
const MIGRATING = ["api", "worker"];
export const PROCESSES = ["api", "worker", "redirector"];

export function addProcessCommands(program: Command, installation: Installation): void {
  program
    .command("migrate")
    .description(
      "Bring the schemas of PostgreSQL and ClickHouse up to date; workers must be stopped. Reads migrate.env",
    )
    .action(async () => {
      await runMigrations(installation, "stdout");
      await installation.asOwner().recordCommand("migrate");
    });

  program
    .command("config")
    .description("Configuration")
    .command("check")
    .description(
      "Report every invalid variable, every server that cannot be reached and every missing privilege, by the files in /etc/shorthop or, without them, by the environment",
    )
    .argument("[processes...]", "only these: api, worker, redirector")
    .action(async (names: string[]) => {
      const installed = PROCESSES.filter((name) => installation.has(name));
      const found = installed.length > 0 ? installed : PROCESSES;
      const results: boolean[] = [];
      for (const name of names.length > 0 ? names : found)
        results.push(await runProcess(name, "check", installation.environmentOf(name)));
      if (results.includes(false)) process.exit(1);
    });

  program
    .command("geoip")
    .description("GeoIP data of the worker")
    .command("update")
    .description(
      "Download each database of GEOIP_DATABASES from its URL in GEOIP_URLS, and replace the file if it is newer and can " +
        "be read; a running worker then uses it. shorthop-geoip.timer does so once a week",
    )
    .action(async () => {
      if (!(await runProcess("worker", "geoip-update", installation.environmentOf("worker"))))
        process.exit(1);
    });
}

/** Brings both schemas up to date, as the owner; throws when one cannot be. */
export async function runMigrations(
  installation: Installation,
  output: "stdout" | "stderr",
): Promise<void> {
  const env = { ...installation.env, ...installation.read("migrate") };
  const results: boolean[] = [];
  for (const name of MIGRATING) results.push(await runProcess(name, "migrate", env, output));
  if (results.includes(false)) throw new Error("The schemas could not be brought up to date.");
}

async function runProcess(
  name: string,
  subcommand: string,
  env: Env,
  output: "stdout" | "stderr" = "stdout",
): Promise<boolean> {
  process[output].write(`${name}:\n`);
  const child = Bun.spawn([...commandOf(name), subcommand], {
    env,
    stdio: ["ignore", process[output].fd, "inherit"],
  });
  return (await child.exited) === 0;
}

/** A process is a word of the executable or, in the source tree, a main module. */
export function commandOf(name: string): string[] {
  if (!PROCESSES.includes(name)) throw new Error(`There is no process "${name}".`);
  const main = join(import.meta.dir, `../../${name}/main.ts`);
  return existsSync(main) ? [process.execPath, main] : [process.execPath, name];
}

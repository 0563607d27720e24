/**
 * `shorthop migrate` and `shorthop config check`: run the subcommand of each process. A process is an
 * executable in the same directory as this one or, in the source tree, a main module.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Command } from "commander";

/** The processes that own a database schema. */
const MIGRATING = ["api", "worker"];
const PROCESSES = ["api", "worker", "redirector"];

export function addProcessCommands(program: Command): void {
  program
    .command("migrate")
    .description(
      "Bring the schemas of PostgreSQL and ClickHouse up to date; workers must be stopped",
    )
    .action(() => runAll(MIGRATING, "migrate"));

  program
    .command("config")
    .description("Configuration")
    .command("check")
    .description("Report every invalid variable and every server that cannot be reached")
    .argument("[processes...]", "only these: api, worker, redirector", PROCESSES)
    .action((names: string[]) => runAll(names, "check"));
}

async function runAll(names: readonly string[], subcommand: string): Promise<void> {
  let failed = false;
  for (const name of names) {
    console.log(`${name}:`);
    const child = Bun.spawn([...findExecutable(name), subcommand], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    failed = (await child.exited) !== 0 || failed;
  }
  if (failed) process.exit(1);
}

function findExecutable(name: string): string[] {
  const executable = join(dirname(process.execPath), `shorthop-${name}`);
  if (existsSync(executable)) return [executable];
  const main = join(import.meta.dir, `../../${name}/main.ts`);
  if (!existsSync(main)) throw new Error(`There is no ${executable}.`);
  return [process.execPath, main];
}

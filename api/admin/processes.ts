/**
 * `shorthop migrate` and `shorthop config check`: what each process does for itself, done by all of them. A
 * process is the executable beside this one, or in the source tree its main module.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Command } from "commander";

/** Those that have a schema, and all of them. */
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
    .description("Name every bad variable, and everything that cannot be reached")
    .argument("[processes...]", "of these alone: api, worker, redirector", PROCESSES)
    .action((names: string[]) => runAll(names, "check"));
}

async function runAll(names: readonly string[], word: string): Promise<void> {
  let failed = false;
  for (const name of names) {
    console.log(`${name}:`);
    const child = Bun.spawn([...commandOf(name), word], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    failed = (await child.exited) !== 0 || failed;
  }
  if (failed) process.exit(1);
}

function commandOf(name: string): string[] {
  const beside = join(dirname(process.execPath), `shorthop-${name}`);
  if (existsSync(beside)) return [beside];
  const main = join(import.meta.dir, `../../${name}/main.ts`);
  if (!existsSync(main)) throw new Error(`There is no ${beside}.`);
  return [process.execPath, main];
}

/**
 * `shorthop backup …`: dumps PostgreSQL and the clicks of ClickHouse, and proves that the dumps can
 * be restored.
 */
import { join } from "node:path";

import type { Command } from "commander";

import { parseCount } from "./arguments.ts";
import { drillClicks, dumpClicks, restoreClicks } from "./backup-clicks.ts";
import { type Database, deleteOldDumps, drillPostgres, dumpPostgres } from "./backup-postgres.ts";
import { print, type WithClickHouse } from "./context.ts";

const DIR = "/var/backups/shorthop";
const KEEP_DAYS = 14;

type Options = { dir: string; keep: number; clicks: boolean; json: boolean };

type BackupDeps = { withClickHouse: WithClickHouse; findDatabase: () => Promise<Database> };

export function addBackupCommands(
  program: Command,
  { withClickHouse, findDatabase }: BackupDeps,
): void {
  const backup = program
    .command("backup")
    .description(
      "Backups of PostgreSQL and of the clicks in ClickHouse, as the users of migrate.env",
    );

  const addCommand = (name: string, description: string) =>
    backup
      .command(name)
      .description(description)
      .option("--dir <path>", "directory of the backups", DIR)
      .option("--json", "print JSON", false);

  addCommand(
    "create",
    "Dump PostgreSQL, and the months of clicks that have changed since they were dumped. shorthop-backup.timer does " +
      "so every night",
  )
    .option("--keep <days>", "delete older dumps of PostgreSQL", parseCount, KEEP_DAYS)
    .option("--no-clicks", "leave ClickHouse to a backup of its own")
    .action(async ({ dir, keep, clicks, json }: Options) => {
      const postgres = await dumpPostgres(await findDatabase(), join(dir, "postgres"));
      const deleted = await deleteOldDumps(join(dir, "postgres"), keep);
      if (!clicks) return print(json, { postgres, deleted });
      await withClickHouse(async (clickhouse) =>
        print(json, {
          postgres,
          deleted,
          clicks: await dumpClicks(clickhouse, join(dir, "clicks")),
        }),
      );
    });

  addCommand(
    "drill",
    "Restore the newest dump of PostgreSQL into a database of its own, read all clicks and restore those of the newest " +
      "month into a table of its own, and remove both again. Fails when a backup could not be restored",
  )
    .option("--no-clicks", "only PostgreSQL")
    .action(async ({ dir, clicks, json }: Options) => {
      const postgres = await drillPostgres(await findDatabase(), join(dir, "postgres"));
      if (!clicks) return print(json, postgres);
      await withClickHouse(async (clickhouse) => {
        const months = await drillClicks(clickhouse, join(dir, "clicks"));
        print(json, { ...postgres, months: months.length, clicks: sumClicks(months) });
      });
    });

  addCommand(
    "restore-clicks",
    "Restore all clicks, and with them the rollups, into empty tables; afterwards check-rollups compares them",
  ).action(({ dir, json }: Options) =>
    withClickHouse(async (clickhouse) =>
      print(json, { clicks: await restoreClicks(clickhouse, join(dir, "clicks")) }),
    ),
  );
}

const sumClicks = (months: readonly { clicks: number }[]): number =>
  months.reduce((sum, { clicks }) => sum + clicks, 0);

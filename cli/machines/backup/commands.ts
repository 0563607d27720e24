/**
 * `shorthop backup`, `backup drill`, `backup list` and `restore`: all that an empty machine needs,
 * in a directory or in an S3-compatible store, and the proof that it can be restored.
 */
import { existsSync } from "node:fs";

import type { ClickHouseClient } from "@clickhouse/client";
import type { Command } from "commander";

import { usePostgres } from "../../../api/postgres.ts";
import { parseCount } from "../../arguments.ts";
import type { Installation } from "../../installation.ts";
import { print, printList } from "../../output.ts";
import { runMigrations } from "../processes.ts";
import { Backups, deleteOldBackups, type Restored, unpackConfiguration } from "./backup.ts";
import {
  type Backup,
  listBackups,
  listProven,
  type Manifest,
  readBackup,
  writeProof,
} from "./manifest.ts";
import { type Database, recordBackup } from "./postgres.ts";
import { DEFAULT_PLACE, parsePlace, type Storage, storageAt } from "./storage.ts";

const KEEP_DAYS = 14;

type Wanted = { from?: string; backup?: string; clicks: boolean; json: boolean };

const PLACE = `an absolute path or s3://bucket/prefix; by default BACKUP_PLACE, or ${DEFAULT_PLACE}`;

export function addBackupCommands(program: Command, installation: Installation): void {
  const backup = addBackup(program, installation);
  addDrill(backup, installation);
  addList(backup, installation);
  addRestore(program, installation);
}

/** The stores that all commands work on, as the owner of their schemas. */
async function withStores<T>(
  installation: Installation,
  hasClicks: boolean,
  work: (database: Database, clickhouse?: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const owner = installation.asOwner();
  const database = { url: await owner.findUrl("DATABASE_URL"), env: owner.env };
  if (!hasClicks) return await work(database);
  return await owner.withClickHouse((clickhouse) => work(database, clickhouse));
}

const placeFor = (installation: Installation, given: string | undefined): Storage =>
  storageAt(installation.asOwner().env, given);

function addBackup(program: Command, installation: Installation): Command {
  return program
    .command("backup")
    .description(
      "Back up PostgreSQL, the months of clicks that have changed, and the configuration, as the users of migrate.env. " +
        "shorthop-backup.timer does so every night",
    )
    .option("--to <place>", PLACE, parsePlace)
    .option("--keep <days>", "delete older backups, but never the newest", parseCount, KEEP_DAYS)
    .option("--no-clicks", "leave ClickHouse to a backup of its own")
    .option("--no-configuration", "leave out the configuration, which has secrets")
    .option("--json", "print JSON", false)
    .action(
      async (options: {
        to?: string;
        keep: number;
        clicks: boolean;
        configuration: boolean;
        json: boolean;
      }) => {
        const storage = placeFor(installation, options.to);
        const { configDir } = installation;
        const hasConfiguration = options.configuration && existsSync(configDir);
        await withStores(installation, options.clicks, async (database, clickhouse) => {
          const backups = new Backups(storage, database, clickhouse);
          const { name, manifest } = await backups.make(hasConfiguration ? configDir : undefined);
          const deleted = await deleteOldBackups(storage, options.keep);
          const madeAt = new Date(manifest.made_at);
          await usePostgres(database.url, (sql) => recordBackup(sql, storage.place, { madeAt }));
          await installation.asOwner().recordCommand("backup", { backup: name });
          print(options.json, {
            place: storage.place,
            backup: name,
            deleted,
            ...countsOf(manifest.postgres.rows, clicksOf(manifest)),
          });
        });
      },
    );
}

function addDrill(backup: Command, installation: Installation): void {
  addReadOptions(
    backup
      .command("drill")
      .description(
        "Prove that a backup can be restored: restore PostgreSQL into a database of its own, read all clicks and restore " +
          "those of the newest month into a table of its own, compare all counts, and remove both again. " +
          "shorthop-backup-drill.timer does so once a week",
      ),
  )
    .option("--no-clicks", "only PostgreSQL")
    .action(async ({ from, backup: wanted, clicks, json }: Wanted) => {
      const storage = placeFor(installation, from);
      const read = await readBackup(storage, wanted);
      await withStores(installation, clicks && hasClicks(read), async (database, clickhouse) => {
        const drilled = await new Backups(storage, database, clickhouse).drill(read);
        await writeProof(storage, read.name);
        const provenAt = new Date(read.manifest.made_at);
        await usePostgres(database.url, (sql) => recordBackup(sql, storage.place, { provenAt }));
        printCompared(json, storage, read, drilled);
      });
    });
}

function addList(backup: Command, installation: Installation): void {
  backup
    .command("list")
    .description("List the backups of a place, and which of them a drill has proven")
    .option("--from <place>", PLACE, parsePlace)
    .option("--json", "print JSON", false)
    .action(async ({ from, json }: Wanted) => {
      const files = await placeFor(installation, from).list();
      const proven = new Set(listProven(files));
      const names = listBackups(files);
      printList(
        json,
        names.map((name) => ({ backup: name, proven: proven.has(name) })),
      );
    });
}

function addRestore(program: Command, installation: Installation): void {
  addReadOptions(
    program
      .command("restore")
      .description(
        "Restore a backup into an empty PostgreSQL and an empty ClickHouse, as the users of migrate.env, and compare all " +
          "counts. Checks every file first, and refuses stores that have data. The processes must be stopped",
      ),
  )
    .option("--no-clicks", "only PostgreSQL")
    .option("--configuration", "only the configuration: files that exist stay as they are", false)
    .action(async (options: Wanted & { configuration: boolean }) => {
      const { json } = options;
      const storage = placeFor(installation, options.from);
      const read = await readBackup(storage, options.backup);
      if (options.configuration) {
        const configuration = await restoreConfiguration(installation, storage, read);
        return print(json, { place: storage.place, backup: read.name, configuration });
      }
      const migrate = () => runMigrations(installation, json ? "stderr" : "stdout");
      const withClicks = options.clicks && hasClicks(read);
      await withStores(installation, withClicks, async (database, clickhouse) => {
        const restored = await new Backups(storage, database, clickhouse).restore(read, migrate);
        await installation.asOwner().recordCommand("restore", { backup: read.name });
        printCompared(json, storage, read, restored);
        if (restored.lacksRoles)
          console.error(
            "PostgreSQL lacks the roles of the processes: run roles.sql and grants.sql.",
          );
      });
    });
}

async function restoreConfiguration(
  { configDir }: Installation,
  storage: Storage,
  { name, manifest }: Backup,
): Promise<string> {
  if (manifest.configuration === null)
    throw new Error(`The backup ${name} was made without the configuration.`);
  await unpackConfiguration(storage, manifest.configuration, configDir);
  return configDir;
}

const addReadOptions = (command: Command): Command =>
  command
    .option("--from <place>", PLACE, parsePlace)
    .option("--backup <name>", "its name, as of backup list; by default the newest")
    .option("--json", "print JSON", false);

const hasClicks = ({ manifest }: Backup): boolean => manifest.clicks !== null;

/** How many clicks a backup has; null if it was made without. */
const clicksOf = ({ clicks }: Manifest): number | null =>
  clicks === null ? null : clicks.reduce((sum, { rows }) => sum + rows, 0);

/** The rows whose loss an operator would notice first. */
const NOTICED = ["accounts", "users", "api_keys", "domains", "links"];

function countsOf(rows: Record<string, number>, clicks: number | null): Record<string, number> {
  const noticed = NOTICED.map((table) => [table, rows[table] ?? 0]);
  return { ...Object.fromEntries(noticed), ...(clicks === null ? {} : { clicks }) };
}

function printCompared(
  json: boolean,
  { place }: Storage,
  { name, manifest }: Backup,
  { rows, clicks }: Restored,
): void {
  const expected = countsOf(manifest.postgres.rows, clicksOf(manifest));
  const compared = Object.entries(countsOf(rows, clicks)).map(([table, count]) => [
    table,
    `${count} of ${expected[table] ?? 0}`,
  ]);
  print(json, { place, backup: name, ...Object.fromEntries(compared) });
}

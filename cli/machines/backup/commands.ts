/**
 * `shorthop backup`, `backup drill`, `backup list` and `restore`: all that an empty machine needs,
 * in a directory or in an S3-compatible store, and the proof that it can be restored.
 */
import { existsSync } from "node:fs";

import type { Command } from "commander";

import { usePostgres } from "../../../api/postgres.ts";
import { parseCount } from "../../arguments.ts";
import { print, printList, type WithClickHouse } from "../../context.ts";
import { findUrl } from "../../endpoints.ts";
import { configDirOf, type EnvironmentFiles } from "../../environment-files.ts";
import { runMigrations } from "../processes.ts";
import { unpackConfiguration } from "./configuration.ts";
import { createBackup, deleteOldBackups } from "./create.ts";
import { listBackups, listProven, type Manifest, readBackup, writeProof } from "./manifest.ts";
import { DEFAULT_PLACE, openPlace, parsePlace } from "./place.ts";
import type { Database } from "./postgres.ts";
import { drillBackup, restoreBackup } from "./restore.ts";
import { recordBackup } from "./sql.ts";
import type { Storage } from "./storage.ts";

const KEEP_DAYS = 14;

type Env = Record<string, string | undefined>;

type BackupDeps = {
  /** The environment, with what `migrate.env` has. */
  env: Env;
  files: EnvironmentFiles;
  withClickHouse: WithClickHouse;
};

type Options = { clicks: boolean; json: boolean };
type CreateOptions = Options & { to?: string; keep: number; configuration: boolean };
type ReadOptions = Options & { from?: string; backup?: string };

export function addBackupCommands(program: Command, deps: BackupDeps): void {
  const backup = addCreate(program, deps);
  addDrill(backup, deps);
  addList(backup, deps);
  addRestore(program, deps);
}

function addCreate(program: Command, deps: BackupDeps): Command {
  return program
    .command("backup")
    .description(
      "Back up PostgreSQL, the months of clicks that have changed, and the configuration, as the users of migrate.env. " +
        "shorthop-backup.timer does so every night",
    )
    .option("--to <place>", placeText, parsePlace)
    .option("--keep <days>", "delete older backups, but never the newest", parseCount, KEEP_DAYS)
    .option("--no-clicks", "leave ClickHouse to a backup of its own")
    .option("--no-configuration", "leave out the configuration, which has secrets")
    .option("--json", "print JSON", false)
    .action(async ({ to, keep, clicks, configuration, json }: CreateOptions) => {
      const storage = openPlace(deps.env, to);
      const configDir = configDirOf(deps.env);
      const database = await findDatabase(deps.env);
      const sources = {
        database,
        configDir: configuration && existsSync(configDir) ? configDir : undefined,
      };
      const created = await withClicks(deps, clicks, (clickhouse) =>
        createBackup(storage, { ...sources, clickhouse }),
      );
      const deleted = await deleteOldBackups(storage, keep);
      await record(database, storage, { madeAt: new Date(created.manifest.made_at) });
      const counts = countsOf(created.manifest, created.manifest.postgres.rows);
      print(json, { place: storage.place, backup: created.name, deleted, ...counts });
    });
}

function addDrill(backup: Command, deps: BackupDeps): void {
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
    .action(async ({ from, backup: wanted, clicks, json }: ReadOptions) => {
      const storage = openPlace(deps.env, from);
      const read = await readBackup(storage, wanted);
      const database = await findDatabase(deps.env);
      const hasClicks = clicks && read.manifest.clicks !== null;
      const drilled = await withClicks(deps, hasClicks, (clickhouse) =>
        drillBackup(storage, read, { database, clickhouse }),
      );
      await writeProof(storage, read.name);
      await record(database, storage, { provenAt: new Date(read.manifest.made_at) });
      const compared = compareCounts(read.manifest, drilled);
      print(json, { place: storage.place, backup: read.name, ...compared });
    });
}

function addList(backup: Command, deps: BackupDeps): void {
  backup
    .command("list")
    .description("List the backups of a place, and which of them a drill has proven")
    .option("--from <place>", placeText, parsePlace)
    .option("--json", "print JSON", false)
    .action(async ({ from, json }: ReadOptions) => {
      const storage = openPlace(deps.env, from);
      const files = await storage.list();
      const proven = new Set(listProven(files));
      const names = listBackups(files);
      printList(
        json,
        names.map((name) => ({ backup: name, proven: proven.has(name) })),
      );
    });
}

function addRestore(program: Command, deps: BackupDeps): void {
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
    .action(
      async ({
        from,
        backup: wanted,
        clicks,
        configuration,
        json,
      }: ReadOptions & { configuration: boolean }) => {
        const storage = openPlace(deps.env, from);
        const read = await readBackup(storage, wanted);
        if (configuration) return await restoreConfiguration(deps.env, storage, read, json);
        const hasClicks = clicks && read.manifest.clicks !== null;
        const migrate = () => runMigrations(deps.env, deps.files, json);
        const database = await findDatabase(deps.env);
        const restored = await withClicks(deps, hasClicks, (clickhouse) =>
          restoreBackup(storage, read, { database, clickhouse, migrate }),
        );
        const compared = compareCounts(read.manifest, restored);
        print(json, { place: storage.place, backup: read.name, ...compared });
        if (restored.lacksRoles)
          console.error(
            "PostgreSQL lacks the roles of the processes: run roles.sql and grants.sql.",
          );
      },
    );
}

async function restoreConfiguration(
  env: Env,
  storage: Storage,
  { name, manifest }: { name: string; manifest: Manifest },
  json: boolean,
): Promise<void> {
  if (manifest.configuration === null)
    throw new Error(`The backup ${name} was made without the configuration.`);
  const dir = configDirOf(env);
  await unpackConfiguration(storage, manifest.configuration, dir);
  print(json, { place: storage.place, backup: name, configuration: dir });
}

const placeText = `an absolute path or s3://bucket/prefix; by default BACKUP_PLACE, or ${DEFAULT_PLACE}`;

const addReadOptions = (command: Command): Command =>
  command
    .option("--from <place>", placeText, parsePlace)
    .option("--backup <name>", "its name, as of backup list; by default the newest")
    .option("--json", "print JSON", false);

/** The database of `migrate.env`. */
const findDatabase = async (env: Env): Promise<Database> => ({
  url: await findUrl(env, "DATABASE_URL"),
  env,
});

/** Runs `work` with ClickHouse, or without it. */
async function withClicks<T>(
  { withClickHouse }: BackupDeps,
  wanted: boolean,
  work: (clickhouse: Parameters<Parameters<WithClickHouse>[0]>[0] | undefined) => Promise<T>,
): Promise<T> {
  if (!wanted) return await work(undefined);
  const results: T[] = [];
  await withClickHouse(async (clickhouse) => void results.push(await work(clickhouse)));
  const [result] = results;
  if (result === undefined) throw new Error("There is no result.");
  return result;
}

/** SQLSTATE of a table that does not exist: before the migration of this version. */
const UNDEFINED_TABLE = "42P01";

/** Records a backup for the metrics of the API. */
async function record(
  database: Database,
  storage: Storage,
  times: Parameters<typeof recordBackup>[2],
): Promise<void> {
  try {
    await usePostgres(database.url, (sql) => recordBackup(sql, storage.place, times));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== UNDEFINED_TABLE) throw error;
  }
}

/** The rows whose loss an operator would notice first. */
const NOTICED = ["accounts", "users", "api_keys", "domains", "links"];

const sumClicks = ({ clicks }: Pick<Manifest, "clicks">): number | undefined =>
  clicks?.reduce((sum, month) => sum + month.clicks, 0);

function countsOf(
  manifest: Pick<Manifest, "clicks">,
  rows: Record<string, number>,
): Record<string, number> {
  const clicks = sumClicks(manifest);
  const noticed = NOTICED.map((table) => [table, rows[table] ?? 0]);
  return { ...Object.fromEntries(noticed), ...(clicks === undefined ? {} : { clicks }) };
}

/** Each count that was restored, beside that of the backup. */
function compareCounts(
  manifest: Manifest,
  { rows, clicks }: { rows: Record<string, number>; clicks: number | null },
): Record<string, string> {
  const compared = countsOf({ clicks: null }, rows);
  const expected = countsOf(manifest, manifest.postgres.rows);
  const all = clicks === null ? compared : { ...compared, clicks };
  return Object.fromEntries(
    Object.entries(all).map(([name, count]) => [name, `${count} of ${expected[name] ?? 0}`]),
  );
}

/**
 * Makes backups of the stores and of the configuration, restores them, proves that they can be
 * restored, and deletes old ones.
 */
import { mkdirSync } from "node:fs";

import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";

import { DAY_MS } from "../../../shared/durations.ts";
import { ClickHouseBackup } from "./clickhouse.ts";
import {
  type Backup,
  backupOf,
  type ClickHouseParts,
  listBackups,
  listProven,
  type Manifest,
  nameOf,
  readBackup,
  requireKnownSchema,
  writeManifest,
} from "./manifest.ts";
import {
  clearDatabase,
  type Database,
  drillPostgres,
  dumpPostgres,
  restorePostgres,
} from "./postgres.ts";
import { outputOf, readBytes, type Storage, type StoredFile, verifyFile } from "./storage.ts";

/** Backups without a manifest that began this long ago were interrupted. */
const INTERRUPTED_MS = 2 * DAY_MS;

/** ClickHouse's errors before the first migration, when there is no table, or no database. */
const MISSING = new Set(["UNKNOWN_TABLE", "UNKNOWN_DATABASE"]);

/** Some environment files and certificates. */
const ARCHIVE_BYTES_MAX = 64 * 1024 ** 2;

/** A file or a folder, as tar lists it, with permissions only. */
const PLAIN_ENTRY = /^[-d](?:[r-][w-][x-]){3} /;

/** Has tar archive what links lead to, and no special rights. */
const PLAIN_FILES = ["--dereference", "--hard-dereference", "--mode=a-s,-t"];

/** Restored counts, beside those of the backup. */
export type Restored = {
  rows: Record<string, number>;
  /** Null without ClickHouse. */
  clicks: number | null;
};

/** The backups of a storage; of PostgreSQL only if ClickHouse has backups of its own. */
export class Backups {
  readonly #storage: Storage;
  readonly #database: Database;
  readonly #clickhouse: ClickHouseBackup | undefined;

  constructor(storage: Storage, database: Database, clickhouse?: ClickHouseClient) {
    this.#storage = storage;
    this.#database = database;
    this.#clickhouse =
      clickhouse === undefined ? undefined : new ClickHouseBackup(clickhouse, storage);
  }

  /** Writes a backup, with a configuration directory if there is one; the manifest last. */
  async make(configDir: string | undefined, now = new Date()): Promise<Backup> {
    const storage = this.#storage;
    const name = nameOf(now);
    const postgres = await dumpPostgres(this.#database, storage, name);
    const parts =
      this.#clickhouse === undefined
        ? { clicks: null, rollups: [], failures: [] }
        : await this.#clickhouse.dump(await readKnown(storage), name, now);
    const configuration =
      configDir === undefined ? null : await packConfiguration(storage, name, configDir);
    const made_at = now.toISOString();
    return await writeManifest(storage, name, { made_at, postgres, ...parts, configuration });
  }

  /**
   * Restores a backup; `migrate` brings the schemas of both stores up to date. Nothing is changed
   * before every file was found to be as it was stored, and both stores to be empty. Throws when
   * there is less afterwards than in the backup. `lacksRoles` is whether `grants.sql` has to be
   * run, as the roles of the processes do not exist.
   */
  async restore(
    backup: Backup,
    migrate: () => Promise<void>,
  ): Promise<Restored & { lacksRoles: boolean }> {
    const storage = this.#storage;
    const { postgres } = backup.manifest;
    requireKnownSchema(backup);
    const parts = this.#clickhouse === undefined ? undefined : partsOf(backup.manifest);
    for (const file of [postgres.file, ...filesOf(parts)]) await verifyFile(storage, file);
    await this.#requireNoClicks();
    const hasRoles = await clearDatabase(this.#database.url);
    const privileges = hasRoles ? "with privileges" : "without privileges";
    const rows = await restorePostgres(this.#database, storage, postgres, privileges);
    await migrate();
    const clicks = parts === undefined ? null : await this.#clickhouse?.restore(parts);
    return { rows, clicks: clicks ?? null, lacksRoles: !hasRoles };
  }

  async #requireNoClicks(): Promise<void> {
    try {
      await this.#clickhouse?.requireNoClicks();
    } catch (error) {
      if (!(error instanceof ClickHouseError) || !MISSING.has(error.type ?? "")) throw error;
    }
  }

  /** Restores a backup into a temporary database and tables. Throws when it cannot. */
  async drill(backup: Backup): Promise<Restored> {
    const { manifest } = backup;
    requireKnownSchema(backup);
    await verifyFile(this.#storage, manifest.postgres.file);
    if (manifest.configuration !== null) await verifyFile(this.#storage, manifest.configuration);
    const rows = await drillPostgres(this.#database, this.#storage, manifest.postgres);
    const clicks = await this.#clickhouse?.drill(partsOf(manifest));
    return { rows, clicks: clicks ?? null };
  }
}

const partsOf = ({ clicks, rollups, failures }: Manifest): ClickHouseParts => ({
  clicks: clicks ?? [],
  rollups,
  failures,
});

const filesOf = (parts: ClickHouseParts | undefined): StoredFile[] =>
  parts === undefined
    ? []
    : [...parts.clicks, ...parts.rollups, ...parts.failures].map(({ file }) => file);

/** The months of the newest backup that has clicks. */
async function readKnown(storage: Storage): Promise<ClickHouseParts> {
  for (const name of listBackups(await storage.list()).toReversed()) {
    const { manifest } = await readBackup(storage, name);
    if (manifest.clicks !== null) return partsOf(manifest);
  }
  return { clicks: [], rollups: [], failures: [] };
}

/**
 * Deletes backups that are older than so many days, except the newest and the newest that is
 * proven, and shared files that no backup has any more. Returns how many backups it deleted.
 */
export async function deleteOldBackups(
  storage: Storage,
  days: number,
  now = Date.now(),
): Promise<number> {
  const files = await storage.list();
  const backups = listBackups(files);
  const kept = new Set([backups.at(-1), listProven(files).at(-1)]);
  const [oldest, interrupted] = [days * DAY_MS, INTERRUPTED_MS].map((age) =>
    nameOf(new Date(now - age)),
  );
  const isOld = (name: string): boolean =>
    !kept.has(name) && name < ((backups.includes(name) ? oldest : interrupted) ?? "");
  const old = new Set(files.map(backupOf).filter((name) => name !== "" && isOld(name)));
  // The manifest first: what is left of a backup is then none.
  const removed = files.filter((file) => old.has(backupOf(file)));
  for (const file of removed.toSorted((a, b) => rank(a) - rank(b))) await storage.remove(file);
  await deleteUnusedFiles(storage, now);
  return [...old].filter((name) => backups.includes(name)).length;
}

const rank = (file: string): number => (file.endsWith("/manifest.json") ? 0 : 1);

/** A file that several backups may share, and the time of the backup that wrote it. */
const SHARED_FILE =
  /^(?:clicks\/|failures\/|rollups\/\w+_)\d{6}_(\d{4}-\d\d-\d\dT[\d.-]+Z)\.tsv\.gz$/;

async function deleteUnusedFiles(storage: Storage, now: number): Promise<void> {
  const files = await storage.list();
  const used = new Set<string>();
  for (const name of listBackups(files))
    for (const file of filesOf(partsOf((await readBackup(storage, name)).manifest)))
      used.add(file.name);
  // A backup that is still being made has no manifest yet.
  const recent = nameOf(new Date(now - INTERRUPTED_MS));
  for (const file of files) {
    const madeAt = SHARED_FILE.exec(file)?.[1];
    if (madeAt !== undefined && madeAt < recent && !used.has(file)) await storage.remove(file);
  }
}

/** Archives the directory with the modes of its files: what a link leads to, but no link. */
export const packConfiguration = (
  storage: Storage,
  name: string,
  dir: string,
): Promise<StoredFile> =>
  storage.write(
    `${name}/configuration.tar.gz`,
    outputOf(["tar", "--create", "--gzip", ...PLAIN_FILES, `--directory=${dir}`, "."]),
  );

/**
 * Unpacks an archive into a directory; files that exist stay as they are. Throws, with nothing
 * unpacked, when it has more than files and folders: whoever can write a backup is not root.
 */
export async function unpackConfiguration(
  storage: Storage,
  { name }: StoredFile,
  dir: string,
): Promise<void> {
  const archive = await readBytes(storage, name, ARCHIVE_BYTES_MAX);
  // Escaped, so that each entry is one line.
  const list = await runTar(["--list", "--verbose", "--quoting-style=escape"], archive);
  const entries = list.trimEnd().split("\n");
  const wrong = entries.find((entry) => !PLAIN_ENTRY.test(entry));
  if (wrong !== undefined)
    throw new Error(`${name} in ${storage.place} has more than files and folders: ${wrong}`);
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  await runTar(["--extract", "--skip-old-files", `--directory=${dir}`], archive);
}

async function runTar(options: readonly string[], archive: Buffer): Promise<string> {
  const child = Bun.spawn(["tar", "--gzip", ...options], {
    stdio: [archive, "pipe", "inherit"],
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("tar failed.");
  return output;
}

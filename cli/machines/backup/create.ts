/** Makes backups: each part, then the manifest; and deletes old ones. */
import type { ClickHouseClient } from "@clickhouse/client";

import { DAY_MS } from "../../../shared/durations.ts";
import { dumpClicks } from "./clicks.ts";
import { packConfiguration } from "./configuration.ts";
import { adoptEarlierClicks } from "./earlier-clicks.ts";
import { dumpFailures } from "./failures.ts";
import {
  backupOf,
  type ClickHouseParts,
  listBackups,
  listProven,
  type Manifest,
  nameOf,
  readBackup,
  writeManifest,
} from "./manifest.ts";
import { type Database, dumpPostgres } from "./postgres.ts";
import { dumpRollups } from "./rollups.ts";
import type { Storage } from "./storage.ts";

export type BackupSources = {
  database: Database;
  /** Undefined if ClickHouse has a backup of its own. */
  clickhouse: ClickHouseClient | undefined;
  /** The directory of the configuration; undefined to leave it out. */
  configDir: string | undefined;
};

/** Backups without a manifest that began this long ago were interrupted. */
const INTERRUPTED_MS = 2 * DAY_MS;

/** Writes a backup; returns its name and its manifest. */
export async function createBackup(
  storage: Storage,
  { database, clickhouse, configDir }: BackupSources,
  now = new Date(),
): Promise<{ name: string; manifest: Omit<Manifest, "format" | "version"> }> {
  const name = nameOf(now);
  const manifest = {
    made_at: now.toISOString(),
    postgres: await dumpPostgres(database, storage, name),
    ...(clickhouse === undefined
      ? { clicks: null, rollups: [], failures: [] }
      : await dumpClickHouse(clickhouse, storage, name, now)),
    configuration:
      configDir === undefined ? null : await packConfiguration(storage, name, configDir),
  };
  await writeManifest(storage, name, manifest);
  return { name, manifest };
}

/**
 * Writes what the backup before does not have. Rollups first: a click that comes later is not in
 * them, and NATS may deliver it again.
 */
export async function dumpClickHouse(
  clickhouse: ClickHouseClient,
  storage: Storage,
  name: string,
  now = new Date(),
): Promise<ClickHouseParts> {
  const known = await readKnown(storage);
  const rollups = await dumpRollups(clickhouse, storage, { known: known.rollups, name, now });
  const clicks = await dumpClicks(clickhouse, storage, { known: known.clicks, name, now });
  const failures = await dumpFailures(clickhouse, storage, { known: known.failures, name, now });
  return { clicks, rollups, failures };
}

/** The months of the newest backup that has clicks. */
async function readKnown(storage: Storage): Promise<ClickHouseParts> {
  for (const name of listBackups(await storage.list()).toReversed()) {
    const { clicks, rollups, failures } = (await readBackup(storage, name)).manifest;
    if (clicks !== null) return { clicks, rollups, failures };
  }
  const clicks = storage.place.startsWith("/") ? await adoptEarlierClicks(storage) : [];
  return { clicks, rollups: [], failures: [] };
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
    for (const { file } of sharedFiles((await readBackup(storage, name)).manifest))
      used.add(file.name);
  // A backup that is still being made has no manifest yet.
  const recent = nameOf(new Date(now - INTERRUPTED_MS));
  for (const file of files) {
    const madeAt = SHARED_FILE.exec(file)?.[1];
    if (madeAt !== undefined && madeAt < recent && !used.has(file)) await storage.remove(file);
  }
}

const sharedFiles = ({ clicks, rollups, failures }: Pick<Manifest, keyof ClickHouseParts>) => [
  ...(clicks ?? []),
  ...rollups,
  ...failures,
];

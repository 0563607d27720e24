/** Restores a backup into empty stores, and tries that in throw-away ones. */
import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";

import { usePostgres } from "../../../api/postgres.ts";
import { databaseOf, withDatabase } from "../../../shared/postgres.ts";
import { drillClicks, requireNoClicks, restoreClicks } from "./clicks.ts";
import { drillFailures, restoreFailures } from "./failures.ts";
import { type Backup, type ClickHouseParts, requireKnownSchema } from "./manifest.ts";
import {
  bringUpToDate,
  clearDatabase,
  CONNECT_TIMEOUT_SECONDS,
  type Database,
  restorePostgres,
} from "./postgres.ts";
import { drillRollups, restoreRollups } from "./rollups.ts";
import { createDatabase, dropDatabase } from "./sql.ts";
import { type Storage, verifyFile } from "./storage.ts";

export type RestoreTargets = {
  database: Database;
  /** Undefined to leave ClickHouse alone. */
  clickhouse: ClickHouseClient | undefined;
  /** Brings the schemas of both stores up to date. */
  migrate: () => Promise<void>;
};

/** What was restored, beside what the backup has. */
export type RestoreResult = {
  rows: Record<string, number>;
  clicks: number | null;
  /** Whether `grants.sql` has to be run, as the roles of the processes do not exist. */
  lacksRoles: boolean;
};

/**
 * Restores a backup. Nothing is changed before every file was found to be as it was stored, and
 * both stores to be empty. Throws when there is less afterwards than in the backup.
 */
export async function restoreBackup(
  storage: Storage,
  backup: Backup,
  { database, clickhouse, migrate }: RestoreTargets,
): Promise<RestoreResult> {
  const { manifest } = backup;
  requireKnownSchema(backup);
  const parts =
    clickhouse === undefined
      ? { clicks: [], rollups: [], failures: [] }
      : { ...manifest, clicks: manifest.clicks ?? [] };
  for (const { file } of [manifest.postgres, ...parts.clicks, ...parts.rollups, ...parts.failures])
    await verifyFile(storage, file);
  if (clickhouse !== undefined) await requireNoClicksIfAny(clickhouse);
  const hasRoles = await clearDatabase(database.url);
  const privileges = hasRoles ? "with privileges" : "without privileges";
  const rows = await restorePostgres(database, storage, manifest.postgres, privileges);
  await migrate();
  const clicks =
    clickhouse === undefined ? null : await restoreClickHouse(clickhouse, storage, parts);
  return { rows, clicks, lacksRoles: !hasRoles };
}

/**
 * Restores clicks, rollups and failed requests; returns how many clicks. Throws when there are
 * fewer.
 */
export async function restoreClickHouse(
  clickhouse: ClickHouseClient,
  storage: Storage,
  { clicks, rollups, failures }: ClickHouseParts,
): Promise<number> {
  const restored = await restoreClicks(clickhouse, storage, clicks);
  const expected = clicks.reduce((sum, month) => sum + month.clicks, 0);
  if (restored !== expected) throw new Error(`${restored} of ${expected} clicks were restored.`);
  await restoreRollups(clickhouse, storage, rollups);
  await restoreFailures(clickhouse, storage, failures);
  return restored;
}

/** Before the first migration there is no table, or no database. */
async function requireNoClicksIfAny(clickhouse: ClickHouseClient): Promise<void> {
  try {
    await requireNoClicks(clickhouse);
  } catch (error) {
    if (!(error instanceof ClickHouseError) || !MISSING.has(error.type ?? "")) throw error;
  }
}

const MISSING = new Set(["UNKNOWN_TABLE", "UNKNOWN_DATABASE"]);

/**
 * Restores a backup into a temporary database and a temporary table of clicks, and removes both
 * again. Throws when it could not be restored. The user needs the right to create databases.
 */
export async function drillBackup(
  storage: Storage,
  backup: Backup,
  { database, clickhouse }: Omit<RestoreTargets, "migrate">,
): Promise<{ rows: Record<string, number>; clicks: number | null }> {
  const { manifest } = backup;
  requireKnownSchema(backup);
  await verifyFile(storage, manifest.postgres.file);
  if (manifest.configuration !== null) await verifyFile(storage, manifest.configuration);
  const rows = await inThrowAwayDatabase(database, async (throwAway) => {
    const restored = await restorePostgres(
      throwAway,
      storage,
      manifest.postgres,
      // They belong to the cluster, not to the database.
      "without privileges",
    );
    await bringUpToDate(throwAway.url);
    return restored;
  });
  const clicks =
    clickhouse === undefined || manifest.clicks === null
      ? null
      : await drillClicks(clickhouse, storage, manifest.clicks);
  if (clickhouse !== undefined) {
    await drillRollups(clickhouse, storage, manifest.rollups);
    await drillFailures(clickhouse, storage, manifest.failures);
  }
  return { rows, clicks };
}

async function inThrowAwayDatabase<T>(
  { url, env }: Database,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const name = `${databaseOf(url)}_drill`;
  return await usePostgres(
    url,
    async (sql) => {
      await dropDatabase(sql, name);
      await createDatabase(sql, name);
      try {
        return await work({ url: withDatabase(url, name), env });
      } finally {
        await dropDatabase(sql, name);
      }
    },
    CONNECT_TIMEOUT_SECONDS,
  );
}

/**
 * The manifest of a backup says what belongs to it, and is written last: without one, a folder is
 * no backup. A drill adds a proof beside it.
 */
import * as z from "zod";

import { migrations } from "../../../api/migrations/migrate.ts";
import { version } from "../../../shared/version.ts";
import { readBytes, type Storage } from "./storage.ts";

/** More than the manifest of any backup has: a line for each table and each month. */
const MANIFEST_BYTES_MAX = 4 * 1024 ** 2;

const MANIFEST = "manifest.json";
const PROOF = "proof.json";

const BACKUP_NAME = /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z)\//;

/** The name of a file within the storage: never above it. */
const fileName = z.string().regex(/^(?!.*\.\.)[\w-][\w./-]*$/);

const storedFile = z.object({ name: fileName, bytes: z.int(), sha256: z.string().length(64) });

const tableMonth = z.object({
  /** As YYYYMM. */
  month: z.int(),
  rows: z.int(),
  made_at: z.iso.datetime(),
  file: storedFile,
});

const rollupsMonth = z.object({
  table: z.string().regex(/^\w+$/),
  /** As YYYYMM. */
  month: z.int(),
  rows: z.int(),
  /** The end of its buckets, in Unix seconds. */
  until: z.int(),
  file: storedFile,
});

/** The format of a backup's files. */
const FORMAT = 1;

/** What a manifest of any format has. */
const anyManifest = z.object({ format: z.int(), version: z.string() });

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** Version of Shorthop that made the backup. */
  version: z.string(),
  made_at: z.iso.datetime(),
  postgres: z.object({
    file: storedFile,
    /** The last migration that was applied. */
    migration: z.int(),
    rows: z.record(z.string(), z.int()),
  }),
  /** Null if ClickHouse has a backup of its own. */
  clicks: z.array(tableMonth).nullable(),
  /** Rollups of clicks that retention deletes. */
  rollups: z.array(rollupsMonth),
  /** Sums of failed requests. */
  failures: z.array(tableMonth),
  /** An archive of the configuration directory; null without one. */
  configuration: storedFile.nullable(),
});

export type Manifest = z.output<typeof manifestSchema>;
export type TableMonth = z.output<typeof tableMonth>;
export type RollupsMonth = z.output<typeof rollupsMonth>;
/** The part of a backup that is ClickHouse's. */
export type ClickHouseParts = {
  clicks: TableMonth[];
  rollups: RollupsMonth[];
  failures: TableMonth[];
};

/** A whole backup. */
export type Backup = { name: string; manifest: Manifest };

/** The name of a backup that is made now; names are in the order of their times. */
export const nameOf = (now: Date): string => now.toISOString().replaceAll(":", "-");

/** The names of whole backups, the oldest first. */
export const listBackups = (files: readonly string[]): string[] => namesWith(files, MANIFEST);

/** The names of backups that a drill has proven, the oldest first. */
export const listProven = (files: readonly string[]): string[] => namesWith(files, PROOF);

const namesWith = (files: readonly string[], file: string): string[] =>
  files
    .filter((name) => name.endsWith(`/${file}`))
    .map(backupOf)
    .filter((name) => name !== "")
    .toSorted();

/** The backup that a file belongs to; empty for one that several share. */
export const backupOf = (file: string): string => BACKUP_NAME.exec(file)?.[1] ?? "";

/**
 * Reads a backup by its name, by default the newest. Throws when there is none, and when it has
 * another format.
 */
export async function readBackup(storage: Storage, wanted?: string): Promise<Backup> {
  const names = listBackups(await storage.list());
  const name = wanted ?? names.at(-1);
  if (name === undefined || !names.includes(name))
    throw new Error(
      `There is no backup${wanted === undefined ? "" : ` ${wanted}`} in ${storage.place}.`,
    );
  const text = await readBytes(storage, `${name}/${MANIFEST}`, MANIFEST_BYTES_MAX);
  const content: unknown = JSON.parse(text.toString());
  const made = anyManifest.parse(content);
  if (made.format !== FORMAT)
    throw new Error(
      `The backup ${name} was made by version ${made.version} in format ${made.format}. This version, ${version}, reads format ${FORMAT}: install that one.`,
    );
  return { name, manifest: manifestSchema.parse(content) };
}

/** Makes what was written a backup of this version. */
export async function writeManifest(
  storage: Storage,
  name: string,
  written: Omit<Manifest, "format" | "version">,
): Promise<Backup> {
  const manifest: Manifest = { format: FORMAT, version, ...written };
  await writeJson(storage, `${name}/${MANIFEST}`, manifest);
  return { name, manifest };
}

/** Records that a backup was restored by a drill. */
export const writeProof = (storage: Storage, name: string): Promise<void> =>
  writeJson(storage, `${name}/${PROOF}`, { version, proven_at: new Date().toISOString() });

async function writeJson(storage: Storage, name: string, value: unknown): Promise<void> {
  await storage.write(name, [Buffer.from(`${JSON.stringify(value, null, 2)}\n`)]);
}

/** Throws for a backup whose schema this version does not know. */
export function requireKnownSchema({ manifest }: Backup): void {
  const last = Math.max(...migrations.map(({ id }) => id));
  if (manifest.postgres.migration > last)
    throw new Error(
      `The backup was made by version ${manifest.version}, whose schema this version, ${version}, does not know: install that one.`,
    );
}

/** The newest backups, which `shorthop backup` and its drills record. */
import { DAY_MS } from "../../shared/durations.ts";
import type { Sql } from "../postgres.ts";

/** Times in Unix milliseconds; undefined when there is none. */
export type BackupTimes = {
  madeAt: number | undefined;
  /** When the newest backup was made that a drill has restored. */
  provenAt: number | undefined;
};

/** A backup is made every night. */
const MADE_DAYS_MAX = 2;

/** A drill runs once a week, on a backup of the night before. */
const PROVEN_DAYS_MAX = 9;

/** Reads when the newest backups of all places were made and proven. */
export async function readBackups(sql: Sql): Promise<BackupTimes> {
  const [row] = await sql<[{ made: number | null; proven: number | null }]>`
    select (extract(epoch from max(made_at)) * 1000)::float8 as made,
           (extract(epoch from max(proven_at)) * 1000)::float8 as proven
      from backups`;
  return { madeAt: row.made ?? undefined, provenAt: row.proven ?? undefined };
}

/** Returns what is wrong with the backups; undefined if there is a recent and proven one. */
export function describeBackups(
  { madeAt, provenAt }: BackupTimes,
  now = Date.now(),
): string | undefined {
  const days = (at: number) => Math.floor((now - at) / DAY_MS);
  if (madeAt === undefined) return "no backup is known";
  if (days(madeAt) >= MADE_DAYS_MAX) return `the newest backup is ${days(madeAt)} days old`;
  if (provenAt === undefined) return "no backup was ever restored by a drill";
  if (days(provenAt) < PROVEN_DAYS_MAX) return undefined;
  return `the newest backup that a drill has restored is ${days(provenAt)} days old`;
}

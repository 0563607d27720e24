/** SQL statements of what is known of backups. */
import type { Sql } from "../postgres.ts";
import type { BackupTimes } from "./model.ts";

/** Reads the times of the newest backups of all places. */
export async function readBackupTimes(sql: Sql): Promise<BackupTimes> {
  const [row] = await sql<[{ made: number | null; proven: number | null }]>`
    select (extract(epoch from max(made_at)) * 1000)::float8 as made,
           (extract(epoch from max(proven_at)) * 1000)::float8 as proven
      from backups`;
  return { madeAt: row.made ?? undefined, provenAt: row.proven ?? undefined };
}

/**
 * The quarantine of a click journal: a directory within it for segment files that cannot be
 * published. They are moved there so that they do not block the segments behind them. They are
 * never deleted; an operator restores them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { scanSegment, whyNoSegment } from "../contracts/click-segment.ts";

const quarantineDir = (journalDir: string): string => join(journalDir, "quarantine");

/**
 * Moves a segment's file into its journal's quarantine, and returns its new path. Throws when it
 * cannot be moved.
 */
export function quarantineSegment(path: string): string {
  const folder = quarantineDir(dirname(path));
  // The same mode as the journal's directory: the files contain addresses of people.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return move(path, join(folder, basename(path)));
}

/** Returns the names of quarantined files, sorted. */
export function listQuarantine(journalDir: string): string[] {
  try {
    return readdirSync(quarantineDir(journalDir)).toSorted();
  } catch (error) {
    return noneIfMissing(error);
  }
}

/** Counts quarantined files without blocking, for a metric. */
export async function countQuarantine(journalDir: string): Promise<number> {
  return (await readdir(quarantineDir(journalDir)).catch(noneIfMissing)).length;
}

/** Returns the bytes of all quarantined files. */
export const quarantineBytes = (journalDir: string): number =>
  listQuarantine(journalDir).reduce(
    (sum, name) => sum + statSync(join(quarantineDir(journalDir), name)).size,
    0,
  );

/** Returns the path of a quarantined file. */
export const quarantinedPath = (journalDir: string, name: string): string =>
  join(quarantineDir(journalDir), name);

/**
 * Moves quarantined segments that have become readable back into the journal; the redirector
 * publishes them at its next start. Returns the result for each file: one that is still unreadable
 * stays, with the reason in `problem`.
 */
export const restoreQuarantine = (
  journalDir: string,
): { file: string; restored: boolean; problem: string | null }[] =>
  listQuarantine(journalDir).map((file) => {
    const path = quarantinedPath(journalDir, file);
    try {
      const bytes = readFileSync(path);
      if (scanSegment(bytes) === undefined) throw new Error(whyNoSegment(bytes));
      move(path, join(journalDir, file));
      return { file, restored: true, problem: null };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { file, restored: false, problem };
    }
  });

/** Throws when the target exists: a rename would replace it, and its clicks would be lost. */
function move(from: string, to: string): string {
  if (existsSync(to)) throw new Error(`${to} exists already.`);
  renameSync(from, to);
  return to;
}

function noneIfMissing(error: unknown): string[] {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
  throw error;
}

/**
 * Settles which segments of a batch in doubt are stored, and completes its insert in every rollup.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { BatchSegment, OwnerDeps } from "./deps.ts";
import type { Manifest } from "./entries.ts";
import { listSegments, parseSegments, type SegmentIndex } from "./segment-index.ts";

export type SettleDeps = Pick<
  OwnerDeps,
  "insert" | "isRejected" | "findStored" | "readRows" | "retry" | "onSettled"
>;

/** Adds the stored segments of a batch to the index, and returns them. */
export async function indexStored(
  { findStored, retry }: Pick<SettleDeps, "findStored" | "retry">,
  index: SegmentIndex,
  manifest: Manifest,
): Promise<SegmentId[]> {
  const stored = await retry(() => findStored(listIds(manifest), manifest));
  for (const id of stored) index.add(id);
  return stored;
}

/**
 * Inserts rows under the token of a batch of which a part may be stored: each table drops them if
 * it has the token. Returns false if ClickHouse rejects them. Rows that are in no table are
 * rejected again when they are delivered; those that are in `clicks` are left to the consistency
 * check, which adds them to the rollups.
 */
export async function complete(
  { insert, isRejected, retry }: Pick<SettleDeps, "insert" | "isRejected" | "retry">,
  { token }: Manifest,
  rows: readonly Buffer[],
): Promise<boolean> {
  if (rows.every(({ length }) => length === 0)) return true;
  try {
    await retry(() => insert(token, rows), isRejected);
    return true;
  } catch (error) {
    if (!isRejected(error)) throw error;
    return false;
  }
}

/**
 * Settles a batch in doubt. The rows of it that are in `clicks` are inserted again under its token:
 * a rollup that lacks them gets exactly these rows, and not those that another version or other
 * GeoIP data would make of the segments. Then the segments at hand are inserted under its token,
 * which stores them if nothing was stored. After that, a late insert under this token, by a worker
 * that was paused, has no effect. Returns the manifest if it stays open, because no segment of it
 * is at hand or stored.
 */
export async function settle(
  deps: SettleDeps,
  index: SegmentIndex,
  manifest: Manifest,
  atHand: readonly BatchSegment[],
): Promise<Manifest | undefined> {
  const { readRows, retry, onSettled } = deps;
  const ids = listIds(manifest);
  // In a checkpoint of an earlier version: its segments are settled, and the consistency check
  // compares its rollups.
  if (ids.length === 0) return undefined;
  const inClicks = await retry(() => readRows(ids, manifest));
  const rows = atHand.map((segment) => segment.rows);
  if (await complete(deps, manifest, [inClicks])) await complete(deps, manifest, rows);
  const stored = await indexStored(deps, index, manifest);
  onSettled();
  if (atHand.length === 0 && stored.length === 0) return manifest;
  return undefined;
}

const listIds = (manifest: Manifest): SegmentId[] => [
  ...listSegments(parseSegments(manifest.segments)),
];

/** Settles which segments are stored: those of a batch in doubt, and those from before there was a log. */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import type { BatchSegment, OwnerDeps } from "./deps.ts";
import type { Manifest } from "./entries.ts";
import { listSegments, parseSegments, type SegmentIndex } from "./segment-index.ts";

/**
 * Age of the clicks among which the first owner looks for half-done inserts; the consistency check covers older ones.
 */
const HALF_DONE_AGE_MS = HOUR_MS;

export type SettleDeps = Pick<
  OwnerDeps,
  "insert" | "isRejected" | "findStored" | "repair" | "retry" | "onSettled"
> & {
  /** Throws unless this worker is the owner: a repair during another owner's insert would be wrong. */
  confirm: () => Promise<void>;
};

/**
 * Adds the stored segments of a batch to the index, and repairs their rollups. Returns these segments, and whether the
 * rollups are repaired.
 */
export async function indexStored(
  { findStored, repair, confirm, retry }: SettleDeps,
  index: SegmentIndex,
  manifest: Manifest,
): Promise<{ stored: SegmentId[]; isRepaired: boolean }> {
  const ids = [...listSegments(parseSegments(manifest.segments))];
  const stored = await retry(() => findStored(ids, manifest));
  const needsRepair = stored.length > 0 || isOnlyUnrepaired(manifest);
  const isRepaired = !needsRepair || (await repair(confirm, manifest));
  for (const id of stored) index.add(id);
  return { stored, isRepaired };
}

/** What stays open of a manifest whose segments are settled, and whose rollups wait for a repair. */
export const toUnrepaired = (manifest: Manifest): Manifest => ({
  ...manifest,
  segments: "",
  sequences: "",
});

const isOnlyUnrepaired = ({ segments }: Manifest): boolean => segments === "";

/**
 * Settles a batch in doubt: inserts the segments at hand under its token, and then reads which of its segments are stored.
 * ClickHouse drops the insert if it has the token. After it, a late insert under this token, by a worker that was paused,
 * has no effect. Returns what stays open: the whole manifest if no segment is at hand or stored, its repair if that failed,
 * else nothing.
 */
export async function settle(
  deps: SettleDeps,
  index: SegmentIndex,
  manifest: Manifest,
  atHand: readonly BatchSegment[],
): Promise<Manifest | undefined> {
  const { insert, isRejected, retry, onSettled } = deps;
  if (atHand.length > 0) {
    const rows = atHand.map((segment) => segment.rows);
    try {
      await retry(() => insert(manifest.token, rows), isRejected);
    } catch (error) {
      // Segments that are not stored are rejected again when they are delivered.
      if (!isRejected(error)) throw error;
    }
  }
  const { stored, isRepaired } = await indexStored(deps, index, manifest);
  onSettled();
  const isSettled = atHand.length > 0 || stored.length > 0 || isOnlyUnrepaired(manifest);
  if (!isSettled) return manifest;
  return isRepaired ? undefined : toUnrepaired(manifest);
}

/**
 * Reads from the clicks which segments are stored, before there is a log. An earlier version inserted each segment by itself,
 * and its last inserts may be half done.
 */
export async function readClickHouse({
  readHistory,
  repair,
  confirm,
}: Pick<SettleDeps, "repair" | "confirm"> & Pick<OwnerDeps, "readHistory">): Promise<SegmentIndex> {
  const index = await readHistory();
  const now = Date.now();
  if (index.size() > 0)
    await repair(confirm, { firstClick: now - HALF_DONE_AGE_MS, lastClick: now });
  return index;
}

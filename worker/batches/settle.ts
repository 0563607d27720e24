/** Finding out what is stored: of a batch in doubt, and of the segments before there was a log. */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { BatchSegment, OwnerDeps } from "./deps.ts";
import type { Manifest } from "./entries.ts";
import { listSegments, parseSegments, type SegmentIndex } from "./segment-index.ts";

/**
 * Age of the clicks among which the first owner looks for half-done inserts; the consistency check covers older ones.
 */
const HALF_DONE_AGE_MS = 3_600_000;

export type SettleDeps<Rows> = Pick<
  OwnerDeps<Rows>,
  "insert" | "isRejected" | "findStored" | "repair" | "retry" | "onSettled"
> & {
  /** Throws unless this worker is the owner: a repair during another owner's insert would be wrong. */
  confirm: () => Promise<void>;
};

/**
 * Adds to the index which segments of a batch are stored, and repairs their rollups. Returns them, and whether the rollups
 * are repaired.
 */
export async function findOut<Rows>(
  { findStored, repair, confirm, retry }: SettleDeps<Rows>,
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

/** What is left of a manifest whose segments are settled, while its rollups wait for a repair. */
export const toUnrepaired = (manifest: Manifest): Manifest => ({
  ...manifest,
  segments: "",
  sequences: "",
});

const isOnlyUnrepaired = ({ segments }: Manifest): boolean => segments === "";

/**
 * Finds out which segments of a batch in doubt are stored, after inserting those at hand under its token. ClickHouse
 * drops what it has, and an insert under this token that is still on its way, or sent by a worker that wakes up, has
 * no effect any more. Returns what of the manifest stays open: all of it when nothing is at hand and nothing is stored,
 * the repair when that could not be done, else nothing.
 */
export async function settle<Rows>(
  deps: SettleDeps<Rows>,
  index: SegmentIndex,
  manifest: Manifest,
  atHand: readonly BatchSegment<Rows>[],
): Promise<Manifest | undefined> {
  const { insert, isRejected, retry, onSettled } = deps;
  if (atHand.length > 0) {
    const rows = atHand.map((segment) => segment.rows);
    try {
      await retry(() => insert(manifest.token, rows), isRejected);
    } catch (error) {
      // What is missing is refused again when it is delivered.
      if (!isRejected(error)) throw error;
    }
  }
  const { stored, isRepaired } = await findOut(deps, index, manifest);
  onSettled();
  const isSettled = atHand.length > 0 || stored.length > 0 || isOnlyUnrepaired(manifest);
  if (!isSettled) return manifest;
  return isRepaired ? undefined : toUnrepaired(manifest);
}

/**
 * Reads which segments are stored from the clicks themselves, before there is a log: those of the version that inserted
 * each segment by itself, whose last inserts may be half done.
 */
export async function readClickHouse<Rows>({
  readHistory,
  repair,
  confirm,
}: Pick<SettleDeps<Rows>, "repair" | "confirm"> &
  Pick<OwnerDeps<Rows>, "readHistory">): Promise<SegmentIndex> {
  const index = await readHistory();
  const now = Date.now();
  if (index.size() > 0)
    await repair(confirm, { firstClick: now - HALF_DONE_AGE_MS, lastClick: now });
  return index;
}

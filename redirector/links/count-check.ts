/** Compares how many links the store has with how many there are by PostgreSQL, as heartbeats of the feed say. */

/** Counts in a row of which the store has fewer, before links are taken for missing: one may just have been outdated. */
const LACKING_COUNTS = 4;

/** Returns how many links are missing for certain; undefined while that is not known. */
export type CountCheck = (counted: number, links: number) => number | undefined;

/**
 * Creates a check. Links that are deleted after PostgreSQL counted, and before the store is compared, look like missing ones:
 * while the store has fewer and fewer, nothing is known.
 */
export function createCountCheck(): CountCheck {
  let lackingCounts = 0;
  let before = 0;
  return (counted, links) => {
    const isShrinking = links < before;
    before = links;
    if (isShrinking) return undefined;
    const lacks = Math.max(0, counted - links);
    lackingCounts = lacks === 0 ? 0 : lackingCounts + 1;
    if (lacks === 0) return 0;
    if (lackingCounts < LACKING_COUNTS) return undefined;
    lackingCounts = 0;
    return lacks;
  };
}

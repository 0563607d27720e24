/**
 * Compares the number of links in the store with PostgreSQL's, as reported by the feed's
 * heartbeats.
 */

/** Consecutive counts with links missing, before links count as lost: one count may be outdated. */
const LACKING_COUNTS = 4;

/** Returns how many links are certainly missing; undefined while that is unknown. */
export type CountCheck = (counted: number, links: number) => number | undefined;

/**
 * Creates a check. Links deleted after PostgreSQL counted, and before the comparison, look missing.
 * So while the store's count decreases, the result is unknown.
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

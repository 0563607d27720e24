/** Counts distinct visitors of raw clicks: exactly where the clicks are few enough, else within 1.5 % in bounded memory. */
import { ANALYTICS_EXACT_CLICKS_MAX, ESTIMATED_VISITORS, EXACT_VISITORS } from "./sources.ts";

/**
 * Runs a query with the aggregate for visitors that is put into it. Unless the clicks are known to be few (`lowVolume`), it
 * runs with estimates first, and again with exact counts if `totalOf` its rows allows those.
 */
export async function countVisitors<Row>(
  query: (visitors: string) => Promise<Row[]>,
  totalOf: (rows: readonly Row[]) => number,
  lowVolume: boolean,
): Promise<Row[]> {
  if (lowVolume) return await query(EXACT_VISITORS);
  const estimated = await query(ESTIMATED_VISITORS);
  const total = totalOf(estimated);
  return total > 0 && total <= ANALYTICS_EXACT_CLICKS_MAX ? await query(EXACT_VISITORS) : estimated;
}

/**
 * Counts distinct visitors of raw clicks: exactly for few clicks, else within 1.5 % in bounded
 * memory.
 */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import {
  ANALYTICS_EXACT_CLICKS_MAX,
  ESTIMATED_VISITORS,
  EXACT_VISITORS,
  type QueryRange,
} from "./sources.ts";

/** Whether a range has few of the clicks; false if that is known only after counting them. */
export type IsFew = (
  clickhouse: ClickHouse,
  range: Pick<QueryRange, "from" | "to">,
) => Promise<boolean>;

/**
 * Runs a query that is built with an aggregate for visitors. Unless the clicks are known to be few
 * (`isFew`), it runs with estimates first, and again with exact counts if the rows' total
 * (`totalOf`) is small enough.
 */
export async function countVisitors<Row>(
  query: (visitors: string) => Promise<Row[]>,
  totalOf: (rows: readonly Row[]) => number,
  isFew: () => Promise<boolean>,
): Promise<Row[]> {
  if (await isFew()) return await query(EXACT_VISITORS);
  const estimated = await query(ESTIMATED_VISITORS);
  const total = totalOf(estimated);
  return total > 0 && total <= ANALYTICS_EXACT_CLICKS_MAX ? await query(EXACT_VISITORS) : estimated;
}

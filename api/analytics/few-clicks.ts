/**
 * Decides before any click is read whether a query selects so few clicks that visitors are counted
 * exactly: rollups bound how many clicks filters can select. Otherwise visitors are estimated
 * first, and the clicks may be read twice.
 */
import { queryRows } from "../../shared/clicks/rollups.ts";
import { rollupConditions } from "./dimensions.ts";
import type { Selection } from "./filters.ts";
import { ANALYTICS_EXACT_CLICKS_MAX, clampInstant } from "./sources.ts";
import type { IsFew } from "./visitors.ts";

/** For a link that has few clicks in total. */
export const ALWAYS_FEW: IsFew = () => Promise.resolve(true);

/**
 * Bounds the number of selected clicks. `subjects` is a condition on rollups with its parameters.
 */
export function fewByRollups(
  subjects: string,
  params: Record<string, unknown>,
  { classes, filters }: Pick<Selection, "classes" | "filters">,
): IsFew {
  // Rollups by dimension hold only human clicks.
  const isOfPeople = classes.every((name) => name === "human");
  const conditions = isOfPeople ? rollupConditions(filters) : [];
  return async (clickhouse, { from, to }) => {
    const sums = await Promise.all(
      conditions.map(async ({ table, condition, params: values }) => {
        const [row] = await queryRows<{ clicks: string }>(
          clickhouse,
          `SELECT sum(clicks) AS clicks FROM ${table}
            WHERE ${subjects} AND ${condition}
              AND bucket >= toStartOfDay(fromUnixTimestamp64Milli({from: Int64}, 'UTC'))
              AND bucket < fromUnixTimestamp64Milli({to: Int64}, 'UTC')`,
          { ...params, ...values, from: clampInstant(from), to: clampInstant(to) },
        );
        return Number(row?.clicks ?? 0);
      }),
    );
    return Math.min(...sums) <= ANALYTICS_EXACT_CLICKS_MAX;
  };
}

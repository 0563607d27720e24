/**
 * The values with the most clicks of several dimensions: from rollups where they have the
 * dimension, else from single clicks.
 */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import { breakDown, type BreakdownRow } from "./breakdowns.ts";
import { type Dimension, DIMENSIONS } from "./dimensions.ts";
import { exploreColumns, type SelectedClicks } from "./explore.ts";
import type { ColumnFilter } from "./filter-names.ts";
import { toShownValue } from "./filter-values.ts";

export type TopValues = {
  by: ColumnFilter;
  /** `values` also contains the country and region that a region or city is in. */
  data: { values: Record<string, string>; clicks: number; percentage: number }[];
};

const isInRollups = (name: ColumnFilter): name is Dimension =>
  (DIMENSIONS as readonly string[]).includes(name);

/** Whether a breakdown needs single clicks, which retention may have deleted. */
export const needsSingleClicks = (dimensions: readonly ColumnFilter[]): boolean =>
  !dimensions.every(isInRollups);

/** Breaks clicks down by each dimension separately, in the given order. */
export async function readTopValues(
  clickhouse: ClickHouse,
  selected: SelectedClicks,
  dimensions: readonly ColumnFilter[],
  limit: number,
): Promise<TopValues[]> {
  const inRollups = dimensions.filter(isInRollups);
  const rolledUp =
    inRollups.length === 0
      ? undefined
      : breakDown(clickhouse, selected.scope, selected.range, inRollups, limit);
  return await Promise.all(
    dimensions.map(async (by) => {
      if (isInRollups(by)) {
        const rows = (await rolledUp)?.[by] ?? [];
        return { by, data: rows.map((row) => toValues(by, row)) };
      }
      const { data } = await exploreColumns(clickhouse, selected, {
        by: [by],
        limit,
        starting_after: undefined,
      });
      return {
        by,
        data: data.map(({ values, clicks, percentage }) => ({ values, clicks, percentage })),
      };
    }),
  );
}

function toValues(by: Dimension, { value, country, region, clicks, percentage }: BreakdownRow) {
  const shown = { [by]: toShownValue(by, value) };
  if (by === "region") return { values: { country, ...shown }, clicks, percentage };
  return by === "city"
    ? {
        values: { country, region: toShownValue("region", region), ...shown },
        clicks,
        percentage,
      }
    : { values: shown, clicks, percentage };
}

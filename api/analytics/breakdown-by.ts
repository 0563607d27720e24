/** Breaks down clicks by one or two dimensions, with visitors, from single clicks. */
import * as z from "zod";

import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import { writeCursor } from "../http/cursor.ts";
import { invalidField } from "../http/errors.ts";
import type { BreakdownScope } from "./dimensions.ts";
import type { ColumnFilter } from "./filter-names.ts";
import { toShownValue } from "./filter-values.ts";
import { clampInstant, type QueryRange, RAW_RANGE } from "./sources.ts";
import { countVisitors } from "./visitors.ts";

/** Dimensions that are columns of `clicks`. */
export type BreakdownColumn = ColumnFilter | "link";

/** The columns of a dimension: a region or city is unique only within its country or region. */
const columnsOf = (dimension: BreakdownColumn): readonly string[] => {
  if (dimension === "link") return ["link_id"];
  if (dimension === "region") return ["country", "region"];
  return dimension === "city" ? ["country", "region", "city"] : [dimension];
};

type ValueCounts = {
  /** Keyed by column name. */
  values: Record<string, string>;
  clicks: number;
  unique_clicks: number;
};

export type BreakdownPage = {
  rows: ValueCounts[];
  /** Clicks of all values, including those on other pages. */
  total: number;
  /** Where the next page begins; null on the last one. */
  next_cursor: string | null;
};

type PageQuery = { limit: number; cursor: Cursor | undefined };

/** The clicks and the values of the last row of a page. */
type Cursor = { clicks: number; values: string[] };

/** The schema of a cursor's position. */
export const breakdownCursor: z.ZodType<Cursor> = z.object({
  clicks: z.int().min(0),
  values: z.array(z.string()).max(6),
});

/** A row has the columns as `c0`, `c1` … */
type Row = Record<`c${number}`, string> & { clicks: string; visitors: string; total: string };

const totalOf = (rows: readonly Row[]): number => Number(rows[0]?.total ?? 0);

/**
 * Returns the values with the most clicks; ties sort by value. Returns none for a range whose
 * clicks have been deleted.
 */
export async function breakDownBy(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: Pick<QueryRange, "from" | "to">,
  dimensions: readonly BreakdownColumn[],
  { limit, cursor }: PageQuery,
): Promise<BreakdownPage> {
  const columns = [...new Set(dimensions.flatMap(columnsOf))];
  if (cursor !== undefined && cursor.values.length !== columns.length) {
    throw invalidField("starting_after", "is of other dimensions");
  }
  const params = {
    ...scope.params,
    from: clampInstant(range.from),
    to: clampInstant(range.to),
    limit: limit + 1,
    after_clicks: cursor?.clicks ?? 0,
    ...Object.fromEntries((cursor?.values ?? []).map((value, i) => [`after_${i}`, value])),
  };
  const query = (visitors: string) =>
    queryRows<Row>(clickhouse, selectPage(scope, columns, visitors, cursor !== undefined), params);
  const rows = await countVisitors(query, totalOf, () => scope.isFew(clickhouse, range));
  const total = totalOf(rows);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map((row) => ({
      values: Object.fromEntries(
        columns.map((column, i) => [column, toShownValue(column, row[`c${i}`] ?? "")]),
      ),
      clicks: Number(row.clicks),
      unique_clicks: Number(row.visitors),
    })),
    total,
    next_cursor:
      rows.length > limit && last !== undefined
        ? writeCursor({
            clicks: Number(last.clicks),
            values: columns.map((_, i) => last[`c${i}`] ?? ""),
          } satisfies Cursor)
        : null,
  };
}

/** Column names are constants, so they need no escaping. */
function selectPage(
  { condition }: BreakdownScope,
  columns: readonly string[],
  visitors: string,
  continues: boolean,
): string {
  const names = columns.map((_, i) => `c${i}`);
  const after = names.map((_, i) => `{after_${i}: String}`);
  return `
    SELECT ${names.join(", ")}, clicks, visitors, total
      FROM (
        SELECT ${columns.map((column, i) => `toString(${column}) AS c${i}`).join(", ")},
               count() AS clicks, ${visitors} AS visitors, sum(count()) OVER () AS total
          FROM clicks
         WHERE ${condition} AND ${RAW_RANGE} AND class IN {classes: Array(String)}
         GROUP BY ${names.join(", ")}
      )
     ${continues ? `WHERE clicks < {after_clicks: UInt64} OR clicks = {after_clicks: UInt64} AND (${names.join(", ")}) > (${after.join(", ")})` : ""}
     ORDER BY clicks DESC, ${names.join(", ")}
     LIMIT {limit: UInt32}`;
}

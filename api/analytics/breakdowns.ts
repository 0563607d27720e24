/** Breaks down the clicks of a link or an account by location, device or referrer. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import { UNKNOWN } from "./countries.ts";
import { type BreakdownScope, type Dimension, fromDimensions } from "./dimensions.ts";
import type { QueryRange } from "./sources.ts";

export type BreakdownRow = {
  value: string;
  /** The enclosing country and region where the dimension needs them to be unique, else empty. */
  country: string;
  region: string;
  region_name: string;
  clicks: number;
  /** Share of all clicks of the dimension, including values beyond the limit; one decimal. */
  percentage: number;
};

/** Returns the values of each dimension with the most clicks; ties sort by displayed name. */
export async function breakDown<Name extends Dimension>(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: Pick<QueryRange, "from" | "to" | "rawFrom">,
  dimensions: readonly Name[],
  limit: number,
): Promise<Record<Name, BreakdownRow[]>> {
  const source = fromDimensions(scope, dimensions, range);
  const rows = await queryRows<Row<Name>>(
    clickhouse,
    `SELECT dimension, value, country, region, region_name, count, total
       FROM (
         SELECT name AS dimension, value,
                if(name IN ('region', 'city'), rows.country, '') AS country,
                if(name = 'city', rows.region, '') AS region,
                if(name = 'region', rows.region_name, '') AS region_name,
                sum(clicks) AS count, sum(sum(clicks)) OVER (PARTITION BY dimension) AS total
           FROM ${source.from} AS rows
          GROUP BY dimension, value, country, region, region_name
       )
      ORDER BY dimension, count DESC, ${["value", "region_name", "region"].map(displayName).join(", ")}, country
      LIMIT {limit: UInt32} BY dimension`,
    { ...source.params, limit },
  );
  const breakdowns = Object.fromEntries(
    dimensions.map((name) => [name, new Array<BreakdownRow>()]),
  );
  for (const { dimension, total, count, ...row } of rows) {
    const clicks = Number(count);
    const percentage = percentageOf(clicks, Number(total));
    breakdowns[dimension]?.push({ ...row, clicks, percentage });
  }
  // fromEntries created one list per dimension.
  return breakdowns as Record<Name, BreakdownRow[]>;
}

type Row<Name> = Record<
  "value" | "country" | "region" | "region_name" | "count" | "total",
  string
> & {
  dimension: Name;
};

/** The name under which clients see a value. */
const displayName = (column: string): string => `if(${column} = '', '${UNKNOWN}', ${column})`;

/** Replaces the empty text of unknown locations by `Unknown`. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);

/** A share in percent, with one decimal. */
export const percentageOf = (part: number, total: number): number =>
  Math.round((part / total) * 1_000) / 10;

/** Breaks down the human clicks of a link or an account by location, device or referrer. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Dimension, fromDimensions } from "./dimensions.ts";
import type { CountedLink } from "./queries.ts";
import { ACCOUNT_LINKS, accountLinksParams, type QueryRange } from "./sources.ts";

const UNKNOWN = "Unknown";

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

/** The clicks to break down: a WHERE clause with its parameters, and whether they are few. */
export type BreakdownScope = {
  condition: string;
  params: Record<string, unknown>;
  lowVolume: boolean;
};

type QuerySpan = Pick<QueryRange, "from" | "to" | "rawFrom">;

export const linkScope = ({ id, lowVolume }: CountedLink): BreakdownScope => ({
  condition: "link_id = {link_id: UUID}",
  params: { link_id: id },
  lowVolume,
});

/** All links of an account in one mode, including deleted ones. */
export const accountScope = (
  { accountId, mode }: AccountScope,
  range: QuerySpan,
): BreakdownScope => ({
  condition: `account_id = {account_id: UUID} AND mode = {mode: String} AND ${ACCOUNT_LINKS}`,
  params: { account_id: accountId, mode, ...accountLinksParams(range) },
  lowVolume: false,
});

/** Returns the values of each dimension with the most clicks; ties sort by displayed name. */
export async function breakDown<Name extends Dimension>(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: QuerySpan,
  dimensions: readonly Name[],
  limit: number,
): Promise<Record<Name, BreakdownRow[]>> {
  const source = fromDimensions(scope.condition, dimensions, range, scope.lowVolume);
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
    { ...scope.params, ...source.params, limit },
  );
  const breakdowns = Object.fromEntries(
    dimensions.map((name) => [name, new Array<BreakdownRow>()]),
  );
  for (const { dimension, total, count, ...row } of rows) {
    const clicks = Number(count);
    const percentage = Math.round((clicks / Number(total)) * 1_000) / 10;
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

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code from Unicode CLDR; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === "ZZ" ? UNKNOWN : (countryNames.of(code) ?? code);

/** Replaces the empty text of unknown locations by `Unknown`. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);

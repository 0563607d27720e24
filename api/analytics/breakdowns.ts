/** Breaks down the human clicks of a link or an account by location, device or referrer. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { AccountScope } from "../http/principal.ts";
import type { CountedLink } from "./queries.ts";
import {
  ACCOUNT_LINKS,
  accountLinksParams,
  clampInstant,
  dayParams,
  fromDimensionRollups,
  type QueryRange,
  RAW_RANGE,
  splitDays,
} from "./sources.ts";

const UNKNOWN = "Unknown";

export type Dimension = "country" | "region" | "city" | "browser" | "os" | "device" | "referrer";

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

type QuerySpan = Pick<QueryRange, "from" | "to" | "rawAvailable">;

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
  const names = dimensions.map((name) => `'${name}'`).join(", ");
  const condition = `${scope.condition} AND dimension IN (${names})`;
  const days = scope.lowVolume && range.rawAvailable ? undefined : splitDays(range);
  const rows = await queryRows<Row<Name>>(
    clickhouse,
    `SELECT dimension, value, country, region, region_name, count, total
       FROM (
         SELECT toString(dimension) AS dimension, value,
                if(dimension IN ('region', 'city'), rows.country, '') AS country,
                if(dimension = 'city', rows.region, '') AS region,
                if(dimension = 'region', rows.region_name, '') AS region_name,
                sum(clicks) AS count, sum(sum(clicks)) OVER (PARTITION BY dimension) AS total
           FROM ${days === undefined ? fromRawClicks(scope, dimensions) : fromDimensionRollups(condition)} AS rows
          GROUP BY dimension, value, country, region, region_name
       )
      ORDER BY dimension, count DESC, ${["value", "region_name", "region"].map(displayName).join(", ")}, country
      LIMIT {limit: UInt32} BY dimension`,
    {
      ...scope.params,
      limit,
      ...(days === undefined
        ? { from: clampInstant(range.from), to: clampInstant(range.to) }
        : dayParams(range, days)),
    },
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

/** Raw clicks with the columns of the rollups. Dimension names are constants, so they need no escaping. */
const fromRawClicks = (
  { condition }: BreakdownScope,
  dimensions: readonly Dimension[],
): string => `(
  SELECT row.1 AS dimension, row.2 AS value, country, region, region_name, 1 AS clicks
    FROM (
      SELECT arrayJoin([${dimensions.map((name) => `('${name}', toString(${name}))`).join(", ")}]) AS row,
             country, region, region_name
        FROM clicks
       WHERE ${condition} AND class = 'human' AND ${RAW_RANGE}
    )
)`;

/** The name under which clients see a value. */
const displayName = (column: string): string => `if(${column} = '', '${UNKNOWN}', ${column})`;

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code from Unicode CLDR; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === "ZZ" ? UNKNOWN : (countryNames.of(code) ?? code);

/** Replaces the empty text of unknown locations by `Unknown`. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);

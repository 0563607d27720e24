/**
 * The values of dimensions with the most clicks: countries, devices, referrers and the like.
 * Rollups provide the whole UTC days of a range; raw clicks its edges, each shorter than a day.
 */
import { clickTime } from "../../shared/clicks/query.ts";
import { readColumnValues } from "./breakdown.ts";
import { type ColumnFilter, countryName, toShownValue, UNKNOWN } from "./filters.ts";
import type { GeoRequest, ReferrersRequest } from "./model.ts";
import {
  allOf,
  dayParams,
  type Dimension,
  type DimensionRollup,
  DIMENSIONS,
  hasRawClicks,
  IN_CLASSES,
  IN_DAYS,
  isLowVolume,
  needsRawClicks,
  RAW_RANGE,
  readRows,
  rollupsOf,
  splitDays,
  whereClicks,
  whereColumns,
  whereSubjects,
} from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";
import {
  type AccountDevicesResponse,
  type AccountGeoResponse,
  type AccountReferrersResponse,
  completeFrom,
  percentageOf,
} from "./responses.ts";

/**
 * Far more than the number of devices, browsers and operating systems, so the response contains all
 * of them.
 */
const ALL_VALUES = 1_000;

/** Returns clicks by location. */
export async function readGeo(
  query: AnalyticsQuery,
  { group_by, limit }: GeoRequest,
): Promise<AccountGeoResponse> {
  const { [group_by]: rows } = await readTopValues(query, [group_by], limit);
  const complete = completeOfValues(query, [group_by]);
  if (group_by === "country") return { group_by, data: rows.map(toCountryClicks), ...complete };
  return group_by === "city"
    ? { group_by, data: rows.map(toCityClicks), ...complete }
    : { group_by, data: rows.map(toRegionClicks), ...complete };
}

const toCountryClicks = ({ value, clicks, percentage }: ValueClicks) => ({
  country: value,
  country_name: countryName(value),
  clicks,
  percentage,
});

const toRegionClicks = ({ value, region_name, country, clicks, percentage }: ValueClicks) => ({
  region: orUnknown(value),
  region_name: orUnknown(region_name),
  country,
  clicks,
  percentage,
});

const toCityClicks = ({ value, region, country, clicks, percentage }: ValueClicks) => ({
  city: orUnknown(value),
  region: orUnknown(region),
  country,
  clicks,
  percentage,
});

/** Returns clicks by device, browser and system. */
export async function readDevices(query: AnalyticsQuery): Promise<AccountDevicesResponse> {
  const values = await readTopValues(query, AGENT, ALL_VALUES);
  return {
    devices: values.device.map(({ value, clicks, percentage }) => ({
      type: value,
      clicks,
      percentage,
    })),
    browsers: values.browser.map(toNamedClicks),
    os: values.os.map(toNamedClicks),
    ...completeOfValues(query, AGENT),
  };
}

const AGENT = ["device", "browser", "os"] as const;

const toNamedClicks = ({ value, clicks, percentage }: ValueClicks) => ({
  name: value,
  clicks,
  percentage,
});

/** Returns clicks by referrer. */
export async function readReferrers(
  query: AnalyticsQuery,
  { limit }: ReferrersRequest,
): Promise<AccountReferrersResponse> {
  const { referrer } = await readTopValues(query, ["referrer"], limit);
  return {
    referrers: referrer.map(({ value, clicks, percentage }) => ({
      source: value,
      clicks,
      percentage,
    })),
    ...completeOfValues(query, ["referrer"]),
  };
}

/** The dimensions that an overview shows, and the maximum values of each. */
export type OverviewRequest = { dimensions: readonly ColumnFilter[]; limit: number };

type OverviewValues = {
  by: ColumnFilter;
  /** `values` also contains the country and region that a region or city is in. */
  data: { values: Record<string, string>; clicks: number; percentage: number }[];
};

/**
 * Returns the top values of each dimension, in the given order: from rollups where they have the
 * dimension, else from raw clicks.
 */
export async function readOverviewValues(
  query: AnalyticsQuery,
  { dimensions, limit }: OverviewRequest,
): Promise<{ breakdowns: OverviewValues[]; complete_from?: string }> {
  const inRollups = dimensions.filter(isInRollups);
  const rolledUp = inRollups.length === 0 ? undefined : readTopValues(query, inRollups, limit);
  const breakdowns = await Promise.all(
    dimensions.map(async (by): Promise<OverviewValues> => {
      if (isInRollups(by)) {
        const rows = (await rolledUp)?.[by] ?? [];
        const data = rows.map((row) => ({
          values: toShownValues(by, row),
          clicks: row.clicks,
          percentage: row.percentage,
        }));
        return { by, data };
      }
      const { data } = await readColumnValues(query, [by], limit);
      return {
        by,
        data: data.map(({ values, clicks, percentage }) => ({ values, clicks, percentage })),
      };
    }),
  );
  const needsRaw = inRollups.length < dimensions.length || needsRawClicks(query);
  return { breakdowns, ...completeFrom(query.range, needsRaw) };
}

const isInRollups = (name: ColumnFilter): name is Dimension =>
  DIMENSIONS.some((dimension) => dimension === name);

/** A region has its country too, and a city its country and region. */
function toShownValues(by: Dimension, { value, country, region }: ValueClicks) {
  const shown = { [by]: toShownValue(by, value) };
  if (by === "region") return { country, ...shown };
  return by === "city" ? { country, region: toShownValue("region", region), ...shown } : shown;
}

/** Replaces the empty text of unknown locations by `Unknown`. */
const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);

const completeOfValues = (query: AnalyticsQuery, dimensions: readonly Dimension[]) =>
  completeFrom(query.range, rollupsOf(query, dimensions) === undefined);

type ValueClicks = {
  value: string;
  /** The enclosing country and region where the dimension needs them to be unique, else empty. */
  country: string;
  region: string;
  region_name: string;
  clicks: number;
  /** Share of all clicks of the dimension, including values beyond the limit; one decimal. */
  percentage: number;
};

type Row<Name> = Record<
  "value" | "country" | "region" | "region_name" | "count" | "total",
  string
> & { dimension: Name };

/** Reads the values of each dimension with the most clicks; ties sort by displayed name. */
async function readTopValues<Name extends Dimension>(
  query: AnalyticsQuery,
  dimensions: readonly Name[],
  limit: number,
): Promise<Record<Name, ValueClicks[]>> {
  const source = selectByDimension(query, dimensions);
  const rows = await readRows<Row<Name>>(
    query,
    `SELECT dimension, value, country, region, region_name, count, total
       FROM (
         SELECT dimension, value, country, region, region_name,
                sum(clicks) AS count, sum(sum(clicks)) OVER (PARTITION BY dimension) AS total
           FROM ${source.from}
          GROUP BY dimension, value, country, region, region_name
       )
      ORDER BY dimension, count DESC, ${["value", "region_name", "region"].map(displayName).join(", ")}, country
      LIMIT {limit: UInt32} BY dimension`,
    { ...source.params, limit },
  );
  const values = Object.fromEntries(dimensions.map((name) => [name, new Array<ValueClicks>()]));
  for (const { dimension, total, count, ...row } of rows) {
    const clicks = Number(count);
    values[dimension]?.push({ ...row, clicks, percentage: percentageOf(clicks, Number(total)) });
  }
  // fromEntries created one list per dimension.
  return values as Record<Name, ValueClicks[]>;
}

/** The name under which clients see a value. */
const displayName = (column: string): string => `if(${column} = '', '${UNKNOWN}', ${column})`;

/**
 * A subquery with the columns `dimension, value, country, region, region_name, clicks`, and its
 * parameters. It has the column `link_id` only with `byLink`.
 */
export function selectByDimension(
  query: AnalyticsQuery,
  dimensions: readonly Dimension[],
  byLink = false,
): { from: string; params: Record<string, unknown> } {
  const { range } = query;
  // For few clicks, one table is cheaper than two.
  const rollups =
    isLowVolume(query) && hasRawClicks(range) ? undefined : rollupsOf(query, dimensions);
  const days = rollups === undefined ? { dayFrom: range.to, dayTo: range.to } : splitDays(range);
  const { dayFrom, dayTo } = days;
  const hasEdges = range.from < dayFrom || dayTo < range.to;
  const parts = [
    ...(dayFrom < dayTo ? selectFromRollups(query, rollups ?? [], dimensions, byLink) : []),
    ...(hasEdges ? [selectEdges(query, dimensions, byLink)] : []),
  ];
  return {
    from: `(${parts.join("\nUNION ALL\n")})`,
    params: dayParams(days),
  };
}

const selectFromRollups = (
  query: AnalyticsQuery,
  rollups: readonly DimensionRollup[],
  requested: readonly Dimension[],
  byLink: boolean,
): string[] =>
  rollups.map(({ table, dimensions }) => {
    const found = dimensions.filter((name) => requested.includes(name));
    const condition = allOf(whereSubjects(query), whereColumns(query.filters), IN_DAYS);
    const source = { table, link: byLink ? "subject_id" : undefined, count: "sum(clicks)" };
    return selectCombinations(source, condition, found);
  });

const selectEdges = (
  query: AnalyticsQuery,
  dimensions: readonly Dimension[],
  byLink: boolean,
): string =>
  selectCombinations(
    { table: "clicks", link: byLink ? "link_id" : undefined, count: "count()" },
    `${whereClicks(query, { part: `NOT (${IN_DAYS})` })} AND ${IN_CLASSES} AND ${RAW_RANGE}
     AND (ts < ${clickTime("day_from")} OR ts >= ${clickTime("day_to")})`,
    dimensions,
  );

/** Columns of a location's row beside its value: a region or city is not unique without them. */
const ENCLOSING = ["country", "region", "region_name"] as const;

const ENCLOSING_OF: Readonly<Partial<Record<Dimension, readonly string[]>>> = {
  region: ["country", "region_name"],
  city: ["country", "region"],
};

/**
 * Sums up by all dimensions together before each row becomes one row per dimension: there are far
 * fewer combinations than clicks, or than days of links. Dimension names are constants, so they
 * need no escaping.
 */
function selectCombinations(
  { table, link, count }: { table: string; link: string | undefined; count: string },
  where: string,
  dimensions: readonly Dimension[],
): string {
  const columns = [...new Set(dimensions.flatMap((name) => [name, ...(ENCLOSING_OF[name] ?? [])]))];
  const rowOf = (name: Dimension) => {
    const enclosing = ENCLOSING.map((column) =>
      ENCLOSING_OF[name]?.includes(column) === true ? `combination.${column}` : "''",
    );
    return `('${name}', toString(combination.${name}), ${enclosing.join(", ")})`;
  };
  const byLink = link === undefined ? "" : "link_id, ";
  const names = ["dimension", "value", ...ENCLOSING].map((name, i) => `row.${i + 1} AS ${name}`);
  return `
  SELECT ${byLink}${names.join(", ")}, clicks
    FROM (
      SELECT ${link === undefined ? "" : `${link} AS link_id, `}${columns.join(", ")}, ${count} AS clicks
        FROM ${table}
       WHERE ${where}
       GROUP BY ${byLink}${columns.join(", ")}
    ) AS combination
   ARRAY JOIN [${dimensions.map(rowOf).join(", ")}] AS row`;
}

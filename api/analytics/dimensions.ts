/**
 * Clicks by dimension. Rollups provide the whole UTC days of a range; raw clicks provide its edges,
 * each shorter than a day.
 */
import { clickTime } from "../../shared/clicks/query.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { columnCondition, type Condition, type Filters } from "./filters.ts";
import { clampInstant, hasRawClicks, type QueryRange, RAW_RANGE, toSeconds } from "./sources.ts";
import type { IsFew } from "./visitors.ts";

/** The dimensions that rollups hold. */
export const DIMENSIONS = [
  "country",
  "region",
  "city",
  "browser",
  "os",
  "device",
  "referrer",
] as const;

export type Dimension = (typeof DIMENSIONS)[number];

type Span = Pick<QueryRange, "from" | "to" | "rawFrom">;

/** Unix milliseconds; without whole days both are the end of the range. */
type Days = { dayFrom: number; dayTo: number };

/**
 * Returns the days of a range to read from the rollup. An edge whose raw clicks have been deleted
 * is rounded to the whole day.
 */
export function splitDays({ from, to, rawFrom }: Span): Days {
  const [firstDay, lastDay] = [floorToDay(from), floorToDay(to)];
  const dayFrom = from >= rawFrom ? ceilToDay(from) : firstDay;
  const dayTo = from >= rawFrom || lastDay >= rawFrom ? lastDay : ceilToDay(to);
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

const floorToDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
const ceilToDay = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

/**
 * The clicks to break down: WHERE clauses with their parameters, and whether rollups can be used.
 */
export type BreakdownScope = {
  /** For tables with a link column, including raw clicks. */
  condition: string;
  /** For rollups whose `subject_id` is a link or an account. */
  subjects: string;
  params: Record<string, unknown>;
  /** For few clicks, one table is cheaper than two. */
  lowVolume: boolean;
  isFew: IsFew;
  /** Rollups cannot be used. */
  onlyRaw: boolean;
};

/**
 * A subquery with the columns `link_id, name, value, country, region, region_name, clicks`, and its
 * parameters.
 */
type Source = { from: string; params: Record<string, unknown> };

/**
 * Counts the clicks of a scope. The result includes the scope's parameters. The column `link_id`
 * exists only with `byLink`; in rows of an account it holds the account.
 */
export function fromDimensions(
  scope: Omit<BreakdownScope, "isFew">,
  dimensions: readonly Dimension[],
  range: Span,
  byLink = false,
): Source {
  const { condition, subjects, lowVolume, onlyRaw } = scope;
  const { from, to } = range;
  const { dayFrom, dayTo } =
    onlyRaw || (lowVolume && hasRawClicks(range)) ? { dayFrom: to, dayTo: to } : splitDays(range);
  const parts = [
    ...(dayFrom < dayTo ? fromRollups(subjects, dimensions, byLink) : []),
    ...(from < dayFrom || dayTo < to ? [fromRawClicks(condition, dimensions, byLink)] : []),
  ];
  return {
    from: `(${parts.join("\nUNION ALL\n")})`,
    params: {
      ...scope.params,
      from: clampInstant(from),
      to: clampInstant(to),
      day_from: toSeconds(dayFrom),
      day_to: toSeconds(dayTo),
    },
  };
}

type Rollup = {
  table: string;
  dimensions: readonly Dimension[];
  /** Rows that hold only some of the dimensions have an empty text for the others. */
  where?: string;
};

const ROLLUPS: readonly Rollup[] = [
  { table: "clicks_1d_places", dimensions: ["country", "region", "city"] },
  {
    table: "clicks_1d_agents",
    dimensions: ["device", "browser", "os"],
    where: "WHERE value != ''",
  },
  { table: "clicks_1d_referrers", dimensions: ["referrer"] },
];

/** The condition of the filters for each rollup that has their columns. */
export const rollupConditions = ({
  columns,
}: Pick<Filters, "columns">): (Condition & { table: string })[] =>
  ROLLUPS.flatMap(({ table, dimensions }) => {
    const own = [...columns].filter(([name]) => dimensions.some((dimension) => dimension === name));
    const condition = columnCondition({ columns: new Map(own) });
    return condition === undefined ? [] : [{ table, ...condition }];
  });

/** Columns that qualify a region or a city. */
const LOCATION = ["country", "region", "region_name"] as const;

const isPlace = (name: Dimension): boolean =>
  name === "country" || name === "region" || name === "city";

// Dimension names are constants, so they need no escaping.

/** An expression that returns one row per dimension: its name and value. */
const rowsOf = (dimensions: readonly Dimension[]): string =>
  `arrayJoin([${dimensions.map((name) => `('${name}', toString(${name}))`).join(", ")}]) AS row`;

/**
 * Sums up by all dimensions together before each row becomes one row per dimension: there are far
 * fewer combinations than clicks, or than days of links.
 */
function fromCombinations(
  table: string,
  { id, count, where }: { id: string | undefined; count: string; where: string },
  dimensions: readonly Dimension[],
): string {
  const hasPlaces = dimensions.some(isPlace);
  const columns = [...new Set([...dimensions, ...(hasPlaces ? LOCATION : [])])];
  const location = hasPlaces
    ? LOCATION.join(", ")
    : LOCATION.map((name) => `'' AS ${name}`).join(", ");
  const link = id === undefined ? "" : `${id} AS link_id, `;
  const byLink = id === undefined ? "" : "link_id, ";
  return `
  SELECT ${byLink}row.1 AS name, row.2 AS value, country, region, region_name, clicks
    FROM (
      SELECT ${byLink}${location}, clicks, ${rowsOf(dimensions)}
        FROM (
          SELECT ${link}${columns.join(", ")}, ${count} AS clicks
            FROM ${table}
           WHERE ${where}
           GROUP BY ${byLink}${columns.join(", ")}
        )
    )`;
}

const fromRollups = (
  condition: string,
  requested: readonly Dimension[],
  byLink: boolean,
): string[] =>
  ROLLUPS.map((rollup) => ({
    ...rollup,
    dimensions: rollup.dimensions.filter((name) => requested.includes(name)),
  }))
    .filter(({ dimensions }) => dimensions.length > 0)
    .map(
      ({ table, dimensions, where = "" }) =>
        `${fromCombinations(
          table,
          {
            id: byLink ? "subject_id" : undefined,
            count: "sum(clicks)",
            where: `${condition}
             AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')`,
          },
          dimensions,
        )} ${where}`,
    );

const fromRawClicks = (
  condition: string,
  dimensions: readonly Dimension[],
  byLink: boolean,
): string =>
  fromCombinations(
    "clicks",
    {
      id: byLink ? "link_id" : undefined,
      count: "count()",
      where: `${condition} AND class IN {classes: Array(String)} AND ${RAW_RANGE}
             AND (ts < ${clickTime("day_from")} OR ts >= ${clickTime("day_to")})`,
    },
    dimensions,
  );

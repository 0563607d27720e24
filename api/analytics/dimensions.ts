/**
 * Clicks by dimension: the whole UTC days of a range are read from rollups, its edges, of less than a day each, from raw
 * clicks.
 */
import { clampInstant, hasRawClicks, type QueryRange, RAW_RANGE, toSeconds } from "./sources.ts";

const DAY_MS = 86_400_000;

/** What rollups have. */
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
 * Returns the days of a range to read from the rollup. An edge whose raw clicks have been deleted is rounded to the
 * whole day.
 */
export function splitDays({ from, to, rawFrom }: Span): Days {
  const [firstDay, lastDay] = [floorToDay(from), floorToDay(to)];
  const dayFrom = from >= rawFrom ? ceilToDay(from) : firstDay;
  const dayTo = from >= rawFrom || lastDay >= rawFrom ? lastDay : ceilToDay(to);
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

const floorToDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
const ceilToDay = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

/** The clicks to break down: WHERE clauses with their parameters, and what rollups cannot answer. */
export type BreakdownScope = {
  /** For tables with links, raw clicks among them. */
  condition: string;
  /** For rollups whose `subject_id` is a link or an account. */
  subjects: string;
  params: Record<string, unknown>;
  /** The clicks are few: one table is cheaper than two. */
  lowVolume: boolean;
  /** Rollups cannot answer. */
  onlyRaw: boolean;
};

/** A subquery with the columns `link_id, name, value, country, region, region_name, clicks`, and its parameters. */
type Source = { from: string; params: Record<string, unknown> };

/** Counts the clicks of a scope, whose parameters are part of the source's. In rows of an account, `link_id` is the account. */
export function fromDimensions(
  scope: BreakdownScope,
  dimensions: readonly Dimension[],
  range: Span,
): Source {
  const { condition, subjects, lowVolume, onlyRaw } = scope;
  const { from, to } = range;
  const { dayFrom, dayTo } =
    onlyRaw || (lowVolume && hasRawClicks(range)) ? { dayFrom: to, dayTo: to } : splitDays(range);
  const parts = [
    ...(dayFrom < dayTo ? fromRollups(subjects, dimensions) : []),
    ...(from < dayFrom || dayTo < to ? [fromRawClicks(condition, dimensions)] : []),
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
  /** Where a place lies. */
  location: string;
  /** Rows of which only some dimensions are known have an empty text for the others. */
  where?: string;
};

const ROLLUPS: readonly Rollup[] = [
  {
    table: "clicks_1d_places",
    dimensions: ["country", "region", "city"],
    location: "country, region, region_name",
  },
  {
    table: "clicks_1d_agents",
    dimensions: ["device", "browser", "os"],
    location: "'' AS country, '' AS region, '' AS region_name",
    where: "WHERE value != ''",
  },
  {
    table: "clicks_1d_referrers",
    dimensions: ["referrer"],
    location: "'' AS country, '' AS region, '' AS region_name",
  },
];

// Names of dimensions are constants, so they need no escaping.

/** An expression with one row for each dimension: its name, and the value. */
const rowsOf = (dimensions: readonly Dimension[]): string =>
  `arrayJoin([${dimensions.map((name) => `('${name}', toString(${name}))`).join(", ")}]) AS row`;

const fromRollups = (condition: string, wanted: readonly Dimension[]): string[] =>
  ROLLUPS.map((rollup) => ({
    ...rollup,
    dimensions: rollup.dimensions.filter((name) => wanted.includes(name)),
  }))
    .filter(({ dimensions }) => dimensions.length > 0)
    .map(
      ({ table, dimensions, location, where = "" }) => `
  SELECT subject_id AS link_id, row.1 AS name, row.2 AS value, country, region, region_name, clicks
    FROM (
      SELECT subject_id, ${location}, clicks, ${rowsOf(dimensions)}
        FROM ${table}
       WHERE ${condition}
         AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')
    ) ${where}`,
    );

const fromRawClicks = (condition: string, dimensions: readonly Dimension[]): string => `
  SELECT link_id, row.1 AS name, row.2 AS value, country, region, region_name, 1 AS clicks
    FROM (
      SELECT link_id, country, region, region_name, ${rowsOf(dimensions)}
        FROM clicks
       WHERE ${condition} AND class IN {classes: Array(String)} AND ${RAW_RANGE}
         AND (ts < toDateTime({day_from: UInt32}, 'UTC') OR ts >= toDateTime({day_to: UInt32}, 'UTC'))
    )`;

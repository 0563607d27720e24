/**
 * Human clicks by dimension: the whole UTC days of a range are read from their rollup, its edges, of less than a day each,
 * from raw clicks.
 */
import { clampInstant, hasRawClicks, type QueryRange, RAW_RANGE, toSeconds } from "./sources.ts";

const DAY_MS = 86_400_000;

export type Dimension = "country" | "region" | "city" | "browser" | "os" | "device" | "referrer";

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

/** A subquery with the columns `link_id, name, value, country, region, region_name, clicks`, and its parameters. */
type Source = { from: string; params: Record<string, number> };

/**
 * Counts the clicks for which `condition` holds. With few clicks (`lowVolume`), it reads all from raw clicks, if they are
 * retained: one table is cheaper than two.
 */
export function fromDimensions(
  condition: string,
  dimensions: readonly Dimension[],
  range: Span,
  lowVolume: boolean,
): Source {
  const { from, to } = range;
  const onlyRaw = lowVolume && hasRawClicks(range);
  const { dayFrom, dayTo } = onlyRaw ? { dayFrom: to, dayTo: to } : splitDays(range);
  const parts = [
    ...(dayFrom < dayTo ? [fromRollup(condition, dimensions)] : []),
    ...(from < dayFrom || dayTo < to ? [fromRawClicks(condition, dimensions)] : []),
  ];
  return {
    from: `(${parts.join("\nUNION ALL\n")})`,
    params: {
      from: clampInstant(from),
      to: clampInstant(to),
      day_from: toSeconds(dayFrom),
      day_to: toSeconds(dayTo),
    },
  };
}

// Names of dimensions are constants, so they need no escaping.

const fromRollup = (condition: string, dimensions: readonly Dimension[]): string => `
  SELECT link_id, toString(dimension) AS name, value, country, region, region_name, clicks
    FROM clicks_1d_by
   WHERE ${condition} AND dimension IN (${dimensions.map((name) => `'${name}'`).join(", ")})
     AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')`;

const fromRawClicks = (condition: string, dimensions: readonly Dimension[]): string => `
  SELECT link_id, row.1 AS name, row.2 AS value, country, region, region_name, 1 AS clicks
    FROM (
      SELECT link_id, country, region, region_name,
             arrayJoin([${dimensions.map((name) => `('${name}', toString(${name}))`).join(", ")}]) AS row
        FROM clicks
       WHERE ${condition} AND class = 'human' AND ${RAW_RANGE}
         AND (ts < toDateTime({day_from: UInt32}, 'UTC') OR ts >= toDateTime({day_to: UInt32}, 'UTC'))
    )`;

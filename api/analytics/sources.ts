/**
 * Which table answers for a range. Rollups hold whole buckets: what does not begin and end with one is
 * asked of the clicks themselves, while they are kept; beyond, it is answered to the quarter of an hour.
 */
import type { Range } from "./period.ts";

const QUARTER_MS = 900_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Up to so many clicks in a range distinct visitors are counted one by one; beyond, within 1.5 %. */
export const EXACT_CLICKS_MAX = 1_000_000;

/** Of a link with fewer clicks than this, looking at each takes less than asking several rollups. */
export const FEW_CLICKS = 50_000;

/** The table that counts by time, and how it names the time. */
export type TimeSource = {
  table: "clicks" | "clicks_1h" | "clicks_15m";
  /** Whether it holds clicks rather than counts. */
  raw: boolean;
};

export const RAW: TimeSource = { table: "clicks", raw: true };

/** A range, and whether its single clicks are all still kept. */
export type AskedRange = Range & { held: boolean };

/** The coarsest table that every boundary of the range and its axis falls in with. */
export function timeSource({ from, to, buckets, held }: AskedRange): TimeSource {
  const boundaries = [from, to, ...buckets.slice(1).map(({ start }) => start)];
  const fits = (ms: number) => boundaries.every((boundary) => boundary % ms === 0);
  if (fits(HOUR_MS)) return { table: "clicks_1h", raw: false };
  return held && !fits(QUARTER_MS) ? RAW : { table: "clicks_15m", raw: false };
}

/** A range as whole UTC days and what is left at its ends; undefined when clicks must be looked at. */
export function dayParts({
  from,
  to,
  held,
}: Pick<AskedRange, "from" | "to" | "held">): { dayFrom: number; dayTo: number } | undefined {
  if (held && (from % QUARTER_MS !== 0 || to % QUARTER_MS !== 0)) return undefined;
  const dayFrom = Math.ceil(from / DAY_MS) * DAY_MS;
  const dayTo = Math.floor(to / DAY_MS) * DAY_MS;
  // A range within a day has ends alone.
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

/** What ClickHouse's `DateTime` reaches, to whole days; no click is older or younger. */
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

/** An instant as ClickHouse can take it, in Unix milliseconds. */
export const bounded = (ms: number): number => Math.min(Math.max(ms, EARLIEST), LATEST);

/** As {@link bounded}, in the seconds that a `DateTime` counts. */
const seconds = (ms: number): number => Math.floor(bounded(ms) / 1_000);

/** The clicks of a range, in a WHERE clause; `from` and `to` are Unix milliseconds. */
export const RAW_RANGE = `
  ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts < fromUnixTimestamp64Milli({to: Int64})`;

/** The buckets of a range that {@link timeSource} found a rollup for. */
export const BUCKET_RANGE = `
  bucket >= toDateTime(intDiv({from: Int64}, 1000), 'UTC')
  AND bucket < toDateTime(intDiv({to: Int64}, 1000), 'UTC')`;

/** The whole days of a range from one rollup, and its ends from a finer one. */
const wholeAndEnds = (columns: string, days: string, ends: string): string => `(
  SELECT ${columns} FROM ${days}
     AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')
  UNION ALL
  SELECT ${columns} FROM ${ends}
     AND bucket >= toDateTime({from: UInt32}, 'UTC') AND bucket < toDateTime({to: UInt32}, 'UTC')
     AND (bucket < toDateTime({day_from: UInt32}, 'UTC') OR bucket >= toDateTime({day_to: UInt32}, 'UTC'))
)`;

/** Counts by dimension of a range that {@link dayParts} has cut up. */
export const BY_DIMENSION = (condition: string): string =>
  wholeAndEnds(
    "link_id, dimension, value, country, region, region_name, clicks",
    `clicks_1d_by WHERE ${condition}`,
    `clicks_15m_by WHERE ${condition}`,
  );

/** Counts by link of a range that {@link dayParts} has cut up. */
export const OF_ACCOUNT = (condition: string): string =>
  wholeAndEnds(
    "link_id, clicks",
    `clicks_1d_of_account WHERE ${condition}`,
    `clicks_15m_of_account WHERE class = 'human' AND ${condition}`,
  );

/** The parameters of {@link BY_DIMENSION} and {@link OF_ACCOUNT}. */
export const dayParams = (
  { from, to }: Pick<Range, "from" | "to">,
  { dayFrom, dayTo }: { dayFrom: number; dayTo: number },
) => ({
  from: seconds(from),
  to: seconds(to),
  day_from: seconds(dayFrom),
  day_to: seconds(dayTo),
});

/**
 * The links of an account that have clicks in a range, in a WHERE clause: what is in the order of links is
 * then looked through for these alone.
 */
export const ACCOUNT_LINKS = `link_id IN (
  SELECT link_id FROM clicks_1d_of_account
   WHERE account_id = {account_id: UUID} AND mode = {mode: String}
     AND bucket >= toDateTime({links_from: UInt32}, 'UTC') AND bucket < toDateTime({links_to: UInt32}, 'UTC'))`;

/** The parameters of {@link ACCOUNT_LINKS} beside account and mode. */
export const accountLinksParams = ({ from, to }: Pick<Range, "from" | "to">) => ({
  links_from: seconds(Math.floor(from / DAY_MS) * DAY_MS),
  links_to: seconds(to),
});

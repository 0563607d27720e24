/**
 * Chooses the ClickHouse table for a range. Rollups hold whole buckets, so a range that is not
 * aligned with them is read from raw clicks. After retention has deleted those, the range is
 * rounded to quarter hours.
 */
import { DAY_MS, HOUR_MS } from "../../shared/durations.ts";
import type { Condition } from "./filters.ts";
import type { Range } from "./period.ts";

/** The shortest bucket of a rollup. */
export const QUARTER_MS = 900_000;

/**
 * Up to this many clicks in a range, distinct visitors are counted exactly; beyond, they are
 * estimated (1.5 % error). A link's `unique_clicks` is exact only up to the smaller
 * `COUNTERS_EXACT_CLICKS_MAX` (worker/counters.ts) and estimated beyond (0.8 % error). Above that
 * limit it may differ from the link's analytics within these errors.
 */
export const ANALYTICS_EXACT_CLICKS_MAX = 1_000_000;

/** Aggregates for the distinct visitors of raw clicks: exact, or within 1.5 % in bounded memory. */
export const EXACT_VISITORS = "uniqExact(visitor)";
export const ESTIMATED_VISITORS = "uniqCombined64(14)(visitor)";

/**
 * For links with fewer clicks than this, scanning raw clicks is cheaper than querying several
 * rollups.
 */
export const LOW_VOLUME_CLICKS = 50_000;

/** The table that clicks over time are counted from. */
export type TimeSource = {
  table: "clicks" | "clicks_1d" | "clicks_1h" | "clicks_15m";
  /** Whether it holds raw clicks instead of counts. */
  raw: boolean;
};

export const RAW: TimeSource = { table: "clicks", raw: true };

/** A range, and the instant (Unix milliseconds) from which all raw clicks are retained. */
export type QueryRange = Range & { rawFrom: number };

/**
 * The table for a range up to `rolledTo` (Unix milliseconds). If it is split, later clicks are read
 * from raw clicks.
 */
type SplitSource = { source: TimeSource; rolledTo: number; isSplit: boolean };

/** Whether all raw clicks of a range are still retained. */
export const hasRawClicks = ({ from, rawFrom }: Pick<QueryRange, "from" | "rawFrom">): boolean =>
  from >= rawFrom;

/** The coarsest table whose buckets align with every boundary of the range and its time axis. */
export function timeSource(range: QueryRange): TimeSource {
  const { from, to, buckets } = range;
  const boundaries = [from, to, ...buckets.slice(1).map(({ start }) => start)];
  const alignsWith = (ms: number) => boundaries.every((boundary) => boundary % ms === 0);
  if (alignsWith(DAY_MS)) return { table: "clicks_1d", raw: false };
  if (alignsWith(HOUR_MS)) return { table: "clicks_1h", raw: false };
  return hasRawClicks(range) && !alignsWith(QUARTER_MS) ? RAW : { table: "clicks_15m", raw: false };
}

/**
 * As {@link timeSource}. If only the end of a range is within a bucket, as in a range up to now,
 * reads all but its last hour from a rollup.
 */
export function splitSource(range: QueryRange): SplitSource {
  const source = timeSource(range);
  const rolledTo = Math.floor(range.to / HOUR_MS) * HOUR_MS;
  const buckets = range.buckets.filter(({ start }) => start < rolledTo);
  const rolled = timeSource({ ...range, to: rolledTo, buckets });
  return source.raw && !rolled.raw && rolledTo > range.from
    ? { source: rolled, rolledTo, isSplit: true }
    : { source, rolledTo: range.to, isSplit: false };
}

/** Splits a range into whole UTC days and its edges; undefined when raw clicks must be read. */
export function splitDays(
  range: Pick<QueryRange, "from" | "to" | "rawFrom">,
): { dayFrom: number; dayTo: number } | undefined {
  const { from, to } = range;
  if (hasRawClicks(range) && (from % QUARTER_MS !== 0 || to % QUARTER_MS !== 0)) return undefined;
  const dayFrom = Math.ceil(from / DAY_MS) * DAY_MS;
  const dayTo = Math.floor(to / DAY_MS) * DAY_MS;
  // A range within one day consists of edges only.
  return dayFrom < dayTo ? { dayFrom, dayTo } : { dayFrom: to, dayTo: to };
}

/** Range of ClickHouse's `DateTime`, in whole days; all clicks are within it. */
const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

/** Clamps an instant (Unix milliseconds) to the range of ClickHouse's `DateTime`. */
export const clampInstant = (ms: number): number => Math.min(Math.max(ms, EARLIEST), LATEST);

/** As {@link clampInstant}, in Unix seconds. */
export const toSeconds = (ms: number): number => Math.floor(clampInstant(ms) / 1_000);

/** WHERE clause for the raw clicks of a range; `from` and `to` are Unix milliseconds. */
export const RAW_RANGE = `
  ts >= fromUnixTimestamp64Milli({from: Int64}) AND ts < fromUnixTimestamp64Milli({to: Int64})`;

/** WHERE clause for the buckets of a range in the rollup that {@link timeSource} returned. */
export const BUCKET_RANGE = `
  bucket >= toDateTime(intDiv({from: Int64}, 1000), 'UTC')
  AND bucket < toDateTime(intDiv({to: Int64}, 1000), 'UTC')`;

/** Subquery for an account's human clicks by link, for a range that {@link splitDays} has split. */
export const fromAccountRollups = (condition: string): string => `(
  SELECT link_id, clicks FROM clicks_1d_of_account WHERE ${condition}
     AND bucket >= toDateTime({day_from: UInt32}, 'UTC') AND bucket < toDateTime({day_to: UInt32}, 'UTC')
  UNION ALL
  SELECT link_id, clicks FROM clicks_15m_of_account WHERE class = 'human' AND ${condition}
     AND bucket >= toDateTime({from: UInt32}, 'UTC') AND bucket < toDateTime({to: UInt32}, 'UTC')
     AND (bucket < toDateTime({day_from: UInt32}, 'UTC') OR bucket >= toDateTime({day_to: UInt32}, 'UTC'))
)`;

/** Query parameters of {@link fromAccountRollups}. */
export const dayParams = (
  { from, to }: Pick<Range, "from" | "to">,
  { dayFrom, dayTo }: { dayFrom: number; dayTo: number },
) => ({
  from: toSeconds(from),
  to: toSeconds(to),
  day_from: toSeconds(dayFrom),
  day_to: toSeconds(dayTo),
});

/**
 * WHERE clause for the links of an account that have clicks in a range: human clicks, or any
 * (`anyClass`). It lets tables sorted by link skip the data of all other links.
 */
export function accountLinks(
  range: Pick<Range, "from" | "to">,
  anyClass = false,
  column: "link_id" | "subject_id" = "link_id",
): Condition {
  const { select, params } = selectAccountLinks(range, anyClass);
  return { condition: `${column} IN (${select})`, params };
}

/**
 * Statement for those links, unordered and with duplicates. The parameters `account_id` and `mode`
 * name the account.
 */
export const selectAccountLinks = (
  { from, to }: Pick<Range, "from" | "to">,
  anyClass: boolean,
): { select: string; params: Record<string, unknown> } => ({
  select: `
  SELECT link_id FROM ${anyClass ? "clicks_15m_of_account" : "clicks_1d_of_account"}
   WHERE account_id = {account_id: UUID} AND mode = {mode: String}
     AND bucket >= toDateTime({links_from: UInt32}, 'UTC') AND bucket < toDateTime({links_to: UInt32}, 'UTC')`,
  params: { links_from: toSeconds(Math.floor(from / DAY_MS) * DAY_MS), links_to: toSeconds(to) },
});

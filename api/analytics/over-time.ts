/**
 * Clicks and visitors over time: totals and a time series of a query's range, and of the range that
 * it is compared with.
 */
import { VISITORS_STATE } from "../../shared/clicks/rollup-tables.ts";
import { DAY_MS } from "../../shared/durations.ts";
import type { SummaryRequest } from "./model.ts";
import { resolveComparison, type Span } from "./period.ts";
import {
  allOf,
  BUCKET_RANGE,
  clampInstant,
  fromRawClicks,
  hasRawClicks,
  IN_CLASSES,
  OF_ACCOUNT,
  RAW_RANGE,
  readWithVisitors,
  selectsLinks,
  splitRange,
  whereClicks,
} from "./plan.ts";
import type { AnalyticsQuery, QueryRange } from "./query-resolver.ts";
import { completeFrom, type Summary } from "./responses.ts";

/** Clicks of the counted classes, their distinct visitors, and clicks of bots and prefetches. */
type Counts = { clicks: number; unique: number; bots: number; prefetches: number };

export type CountsOverTime = {
  total: Counts;
  /** By the start of the bucket (Unix milliseconds); buckets without clicks are absent. */
  buckets: Map<number, Counts>;
};

/**
 * Reads totals and the time series of a query, and those of the range that it is compared with.
 * Throws `invalid_request` for a range that cannot be compared.
 */
export async function readOverTime(
  query: AnalyticsQuery,
  request: SummaryRequest,
): Promise<Summary> {
  const earlier = resolveEarlier(query.range, request);
  const [counts, earlierCounts] = await Promise.all([
    countOverTime(query),
    earlier === undefined ? undefined : countOverTime({ ...query, range: earlier }),
  ]);
  const needsRaw = query.filters.columns.size > 0;
  const current = {
    ...toTimeSeries(query.range, counts),
    ...completeFrom(query.range, needsRaw),
  };
  if (earlier === undefined || earlierCounts === undefined) return current;
  const before = toTimeSeries(earlier, earlierCounts);
  return {
    ...current,
    comparison: {
      ...toComparison(query.range, current, earlier, before),
      ...completeFrom(earlier, needsRaw),
    },
  };
}

/** The range that a range is compared with; undefined if it is compared with none. */
export const resolveEarlier = (
  range: QueryRange,
  request: SummaryRequest,
): QueryRange | undefined =>
  request.compare === undefined
    ? undefined
    : { ...range, ...resolveComparison(request, range, request.compare, range.now) };

// ---- Plan

/** A rollup that clicks and visitors are counted from. */
type RollupPlan = {
  table: string;
  where: string;
  /** The condition on raw clicks after the rollup's part; undefined if there are none. */
  whereEdge: string | undefined;
  /** The end of the part of the range that is read from the rollup, in Unix milliseconds. */
  rolledTo: number;
};

/** Plans which rollup to read; undefined if only raw clicks serve the query. */
function planRollup(query: AnalyticsQuery): RollupPlan | undefined {
  const { subject, range, filters, selected } = query;
  const { table, rolledTo, isSplit } = splitRange(range);
  if (table === "clicks" || filters.columns.size > 0) return undefined;
  const part = `bucket >= toDateTime(${ROLLED_TO}, 'UTC')`;
  const whereEdge = isSplit ? whereClicks(query, { anyClass: true, part }) : undefined;
  // By quarter hour, an account has no states of visitors.
  return subject !== "account" || selectsLinks(selected) || table === "clicks_15m"
    ? { table, where: whereClicks(query, { anyClass: true }), whereEdge, rolledTo }
    : { table: "clicks_1h_of_account", where: OF_ACCOUNT, whereEdge, rolledTo };
}

// ---- Query

/**
 * Counts the clicks of a query, in total and by bucket: from raw clicks if visitors are counted
 * exactly, else from a rollup if there is one. A visitor of several buckets counts once in each, so
 * the visitors of the buckets do not add up to the total.
 */
async function countOverTime(query: AnalyticsQuery): Promise<CountsOverTime> {
  const { range } = query;
  const plan = planRollup(query);
  const raw = fromRawClicks((visitors) => selectRawClicks(query, visitors));
  const rows = await readWithVisitors<CountRow>(
    query,
    plan === undefined
      ? raw
      : { exact: hasRawClicks(range) ? raw.exact : undefined, estimated: selectRolledUp(plan) },
    {
      starts: range.buckets.map(({ start }) => start / 1_000),
      rolled_to: clampInstant(plan?.rolledTo ?? range.to),
    },
    (counted) => toCounts(counted).total.clicks,
  );
  return toCounts(rows);
}

type CountRow = {
  is_total: number;
  /** Unix seconds. */
  start: string;
} & Record<"counted" | "visitors" | "bots" | "prefetches", string>;

const BUCKET_START = (time: string): string =>
  `roundDown(toInt64(toUnixTimestamp(${time})), {starts: Array(Int64)}) AS start`;

const BY_START_AND_TOTAL = "GROUP BY GROUPING SETS ((start), ())";

/** Reads clicks of all classes, to count bots. */
const selectRawClicks = (query: AnalyticsQuery, visitors: string): string => `
  SELECT grouping(start) AS is_total, ${BUCKET_START("ts")},
         countIf(${IN_CLASSES}) AS counted,
         ${visitors} AS visitors,
         countIf(class = 'bot') AS bots,
         countIf(class = 'prefetch') AS prefetches
    FROM clicks
   WHERE ${whereClicks(query, { anyClass: true })} AND ${RAW_RANGE}
   ${BY_START_AND_TOTAL}`;

const ROLLED_TO = "fromUnixTimestamp64Milli({rolled_to: Int64})";

/** Merges each state once into its bucket, and the buckets into the total. */
function selectRolledUp({ table, where, whereEdge }: RollupPlan): string {
  const edge = `
    UNION ALL
    SELECT ${BUCKET_START("ts")}, class, count(), ${VISITORS_STATE}
      FROM clicks
     WHERE ${allOf(whereEdge ?? "", RAW_RANGE)} AND ts >= ${ROLLED_TO}
     GROUP BY start, class`;
  return `
  SELECT grouping(start) AS is_total, start,
         sumIf(counts.clicks, ${IN_CLASSES}) AS counted,
         uniqCombined64MergeIf(14)(states, ${IN_CLASSES}) AS visitors,
         sumIf(counts.clicks, class = 'bot') AS bots,
         sumIf(counts.clicks, class = 'prefetch') AS prefetches
    FROM (
      SELECT ${BUCKET_START("bucket")}, class, sum(clicks) AS clicks,
             uniqCombined64MergeState(14)(visitors) AS states
        FROM ${table}
       WHERE ${allOf(where, BUCKET_RANGE)} AND bucket < toDateTime(${ROLLED_TO}, 'UTC')
       GROUP BY start, class
      ${whereEdge === undefined ? "" : edge}
    ) AS counts
   ${BY_START_AND_TOTAL}`;
}

function toCounts(rows: readonly CountRow[]): CountsOverTime {
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0, prefetches: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.counted),
      unique: Number(row.visitors),
      bots: Number(row.bots),
      prefetches: Number(row.prefetches),
    };
    if (row.is_total === 1) total = counts;
    else buckets.set(Number(row.start) * 1_000, counts);
  }
  return { total, buckets };
}

// ---- Shape

/** Totals, and a time series that includes the buckets without clicks. */
export function toTimeSeries(range: QueryRange, { total, buckets }: CountsOverTime) {
  const elapsedDays = Math.max(1, (elapsedTo(range) - range.from) / DAY_MS);
  return {
    period: range.period,
    summary: {
      total_clicks: total.clicks,
      unique_clicks: total.unique,
      avg_daily_clicks: Math.round(total.clicks / range.days),
      clicks_per_day: Math.round((total.clicks / elapsedDays) * 10) / 10,
      bot_clicks: total.bots,
      prefetch_clicks: total.prefetches,
    },
    clicks_over_time: range.buckets.map(({ label, start }, i) => ({
      date: label,
      clicks: buckets.get(start)?.clicks ?? 0,
      unique: buckets.get(start)?.unique ?? 0,
      ...(isOver(range, i) ? {} : { unfinished: true as const }),
    })),
  };
}

/** Whether a bucket has ended. In a range up to now, the last one has not. */
function isOver({ buckets, to, now }: QueryRange, i: number): boolean {
  const next = buckets[i + 1]?.start;
  return next === undefined ? to < now : next <= now;
}

/** The end of the elapsed part of the range. */
const elapsedTo = ({ from, to, now }: QueryRange): number => Math.max(from, Math.min(to, now));

type TimeSeries = Omit<Summary, "comparison" | "complete_from">;

/** The counts of the earlier range, and how they have changed since. */
export const toComparison = (
  range: QueryRange,
  { summary: now }: TimeSeries,
  earlier: QueryRange,
  { summary, clicks_over_time }: TimeSeries,
) => ({
  ...toDates(earlier),
  current: toDates({ from: range.from, to: elapsedTo(range) }),
  summary,
  clicks_over_time,
  change: {
    total_clicks: changeOf(now.total_clicks, summary.total_clicks),
    unique_clicks: changeOf(now.unique_clicks, summary.unique_clicks),
  },
});

const toDates = ({ from, to }: Span) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
});

/** Change in percent with one decimal; null when the earlier value is 0. */
const changeOf = (now: number, before: number): number | null =>
  before === 0 ? null : Math.round((now / before - 1) * 1_000) / 10;

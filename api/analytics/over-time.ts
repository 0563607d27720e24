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
  ANALYTICS_EXACT_CLICKS_MAX,
  areFew,
  BUCKET_RANGE,
  clampInstant,
  ESTIMATED_VISITORS,
  EXACT_VISITORS,
  hasRawClicks,
  IN_CLASSES,
  isCountedExactly,
  OF_ACCOUNT,
  RAW_RANGE,
  readRows,
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
  const needsSingle = query.filters.columns.size > 0;
  const current = {
    ...toTimeSeries(query.range, counts),
    ...completeFrom(query.range, needsSingle),
  };
  if (earlier === undefined || earlierCounts === undefined) return current;
  const before = toTimeSeries(earlier, earlierCounts);
  return {
    ...current,
    comparison: {
      ...toComparison(query.range, current, earlier, before),
      ...completeFrom(earlier, needsSingle),
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

/** A rollup with its condition. */
type Source = { table: string; where: string; hasVisitors: boolean };

/** Where the clicks of a range are counted, if not all of them from raw clicks. */
type RollupPlan = {
  counts: Source;
  /** The rollup of states of visitors, where the other one has none. */
  visitors: Source;
  /** The condition on raw clicks. */
  whereRaw: string;
  /** The same for those after the rollup's part. */
  whereEdge: string;
  /** Whether the last hour of the range is read from raw clicks. */
  isSplit: boolean;
  /** The end of the part of the range that is read from the rollup, in Unix milliseconds. */
  rolledTo: number;
};

/** Plans which tables to read; undefined if only raw clicks serve the query. */
function planRollups(query: AnalyticsQuery): RollupPlan | undefined {
  const { subject, range, filters, selected } = query;
  const { table, rolledTo, isSplit } = splitRange(range);
  if (table === "clicks" || filters.columns.size > 0) return undefined;
  if (isCountedExactly(query) && hasRawClicks(range)) return undefined;
  // Bots are counted too, also those of links that no person has followed in the range.
  const whereRaw = whereClicks(query, { anyClass: true });
  const part = "bucket >= toDateTime(intDiv({to: Int64}, 1000), 'UTC')";
  const whereEdge = whereClicks(query, { anyClass: true, part });
  const common = { whereRaw, whereEdge, isSplit, rolledTo };
  const visitors = { table, where: whereRaw, hasVisitors: true };
  if (subject !== "account" || selectsLinks(selected))
    return { ...common, counts: visitors, visitors };
  const counts =
    table === "clicks_15m"
      ? { table: "clicks_15m_of_account", where: OF_ACCOUNT, hasVisitors: false }
      : { table: "clicks_1h_of_account", where: OF_ACCOUNT, hasVisitors: true };
  return { ...common, counts, visitors };
}

// ---- Query

/**
 * Counts the clicks of a query, in total and by bucket. A visitor of several buckets counts once in
 * each, so the visitors of the buckets do not add up to the total.
 */
async function countOverTime(query: AnalyticsQuery): Promise<CountsOverTime> {
  const starts = query.range.buckets.map(({ start }) => start / 1_000);
  const plan = planRollups(query);
  return plan === undefined
    ? await countRawClicks(query, starts)
    : await countRolledUp(query, plan, starts);
}

type VisitorsRow = {
  is_total: number;
  /** Unix seconds. */
  start: string;
  unique_visitors: string;
};

type CountRow = VisitorsRow & Record<"counted" | "bots" | "prefetches", string>;

const BUCKET_START = (time: string): string =>
  `roundDown(toInt64(toUnixTimestamp(${time})), {starts: Array(Int64)}) AS start`;

const BY_START_AND_TOTAL = "GROUP BY GROUPING SETS ((start), ())";

/** Reads clicks of all classes, to count bots; counts visitors of the counted classes only. */
async function countRawClicks(
  query: AnalyticsQuery,
  starts: readonly number[],
): Promise<CountsOverTime> {
  const count = async (visitors: string) =>
    toCounts(
      await readRows<CountRow>(
        query,
        `SELECT grouping(start) AS is_total, ${BUCKET_START("ts")},
                countIf(${IN_CLASSES}) AS counted,
                ${visitors} FILTER (WHERE ${IN_CLASSES}) AS unique_visitors,
                countIf(class = 'bot') AS bots,
                countIf(class = 'prefetch') AS prefetches
           FROM clicks
          WHERE ${whereClicks(query, { anyClass: true })} AND ${RAW_RANGE}
          ${BY_START_AND_TOTAL}`,
        { starts },
      ),
    );
  if (query.filters.columns.size === 0 || (await areFew(query))) return await count(EXACT_VISITORS);
  const estimated = await count(ESTIMATED_VISITORS);
  const { clicks } = estimated.total;
  return clicks > 0 && clicks <= ANALYTICS_EXACT_CLICKS_MAX
    ? await count(EXACT_VISITORS)
    : estimated;
}

/**
 * Counts clicks and estimates visitors. If there are so few clicks that visitors are counted
 * exactly, these are read from raw clicks.
 */
async function countRolledUp(
  query: AnalyticsQuery,
  plan: RollupPlan,
  starts: readonly number[],
): Promise<CountsOverTime> {
  const { range } = query;
  const read = async (source: Source) =>
    toCounts(
      await readRows<CountRow>(query, selectCounts(plan, source), {
        starts,
        to: clampInstant(plan.rolledTo),
        edge_to: clampInstant(range.to),
      }),
    );
  const counted = await read(plan.counts);
  const { clicks } = counted.total;
  if (clicks === 0) return counted;
  if (!hasRawClicks(range) || clicks > ANALYTICS_EXACT_CLICKS_MAX)
    return plan.counts.hasVisitors ? counted : await read(plan.visitors);
  const exact = await readRows<VisitorsRow>(query, selectExactVisitors(plan), { starts });
  for (const { is_total, start, unique_visitors } of exact) {
    const counts = is_total === 1 ? counted.total : counted.buckets.get(Number(start) * 1_000);
    if (counts !== undefined) counts.unique = Number(unique_visitors);
  }
  return counted;
}

/** Merges each state once into its bucket, and the buckets into the total. */
function selectCounts({ whereEdge, isSplit }: RollupPlan, source: Source): string {
  const { table, where, hasVisitors } = source;
  const merged = hasVisitors ? ", uniqCombined64MergeState(14)(visitors) AS states" : "";
  const ofClicks = hasVisitors ? `, ${VISITORS_STATE}` : "";
  const unique = hasVisitors ? `uniqCombined64MergeIf(14)(states, ${IN_CLASSES})` : "'0'";
  const edge = `
    UNION ALL
    SELECT ${BUCKET_START("ts")}, class, count()${ofClicks}
      FROM clicks
     WHERE ${whereEdge} AND ts >= fromUnixTimestamp64Milli({to: Int64})
       AND ts < fromUnixTimestamp64Milli({edge_to: Int64})
     GROUP BY start, class`;
  return `
  SELECT grouping(start) AS is_total, start,
         sumIf(counts.clicks, ${IN_CLASSES}) AS counted,
         ${unique} AS unique_visitors,
         sumIf(counts.clicks, class = 'bot') AS bots,
         sumIf(counts.clicks, class = 'prefetch') AS prefetches
    FROM (
      SELECT ${BUCKET_START("bucket")}, class, sum(clicks) AS clicks${merged}
        FROM ${table}
       WHERE ${allOf(where, BUCKET_RANGE)}
       GROUP BY start, class
      ${isSplit ? edge : ""}
    ) AS counts
   ${BY_START_AND_TOTAL}`;
}

const selectExactVisitors = ({ whereRaw }: RollupPlan): string => `
  SELECT grouping(start) AS is_total, ${BUCKET_START("ts")}, ${EXACT_VISITORS} AS unique_visitors
    FROM clicks
   WHERE ${allOf(whereRaw, RAW_RANGE, IN_CLASSES)}
   ${BY_START_AND_TOTAL}`;

function toCounts(rows: readonly CountRow[]): CountsOverTime {
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0, prefetches: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.counted),
      unique: Number(row.unique_visitors),
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

/** Totals and time series of a range, and of the range that it is compared with. */
import { DAY_MS } from "../../shared/durations.ts";
import { resolveComparison } from "./comparison.ts";
import { needsRawClicks, type Selection } from "./filters.ts";
import type { SummaryQuery } from "./model.ts";
import type { SummaryCounts } from "./queries.ts";
import { hasRawClicks, type QueryRange, timeSource } from "./sources.ts";

/** A range, and the time of the query in Unix milliseconds. */
export type CurrentRange = QueryRange & { now: number };

/** Counts the range of a query and the range that it is compared with; throws `invalid_request`. */
export async function countSummary(
  query: SummaryQuery,
  range: CurrentRange,
  selection: Selection,
  countIn: (range: QueryRange) => Promise<SummaryCounts>,
) {
  const { rawFrom, now } = range;
  const earlier =
    query.compare === undefined
      ? undefined
      : { ...resolveComparison(query, range, query.compare, now), rawFrom, now };
  const [counts, earlierCounts] = await Promise.all([
    countIn(range),
    earlier === undefined ? undefined : countIn(earlier),
  ]);
  const current = { ...toTimeSeries(range, counts), ...completeFrom(range, selection) };
  if (earlier === undefined || earlierCounts === undefined) return current;
  const { summary: before, clicks_over_time } = toTimeSeries(earlier, earlierCounts);
  const comparison = {
    ...toSpan(earlier.from, earlier.to),
    current: toSpan(range.from, elapsedTo(range)),
    summary: before,
    clicks_over_time,
    change: {
      total_clicks: changeOf(current.summary.total_clicks, before.total_clicks),
      unique_clicks: changeOf(current.summary.unique_clicks, before.unique_clicks),
    },
    ...completeFrom(earlier, selection),
  };
  return { ...current, comparison };
}

const toSpan = (from: number, to: number) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
});

/** The end of the elapsed part of the range. */
const elapsedTo = ({ from, to, now }: CurrentRange): number => Math.max(from, Math.min(to, now));

/**
 * The instant from which single clicks are complete, if retention has deleted some of the range.
 */
export const incomplete = (range: QueryRange): { complete_from?: string } =>
  hasRawClicks(range) ? {} : { complete_from: new Date(range.rawFrom).toISOString() };

/** As {@link incomplete}, for counts that need single clicks only because of filters. */
export const completeFrom = (range: QueryRange, { columns }: Selection) =>
  columns === undefined ? {} : incomplete(range);

/** As {@link incomplete}, for breakdowns: rollups by dimension count the clicks of people only. */
export const breakdownCompleteFrom = (range: QueryRange, selection: Selection) =>
  needsRawClicks(selection) ? incomplete(range) : {};

/** The rollup by quarter hour for times of clicks, unless raw clicks are needed. */
export const rollupOf = <Table extends string>(
  table: Table,
  range: QueryRange,
  { columns }: Selection,
) =>
  columns === undefined && timeSource({ ...range, buckets: [] }).table !== "clicks"
    ? table
    : undefined;

/** Change in percent with one decimal; null when the earlier value is 0. */
const changeOf = (now: number, before: number): number | null =>
  before === 0 ? null : Math.round((now / before - 1) * 1_000) / 10;

/** Totals, and a time series that includes the buckets without clicks. */
export function toTimeSeries(range: CurrentRange, { total, buckets }: SummaryCounts) {
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
function isOver({ buckets, to, now }: CurrentRange, i: number): boolean {
  const next = buckets[i + 1]?.start;
  return next === undefined ? to < now : next <= now;
}

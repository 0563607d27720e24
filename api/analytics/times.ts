/**
 * When people click: the first and the last click of a range, and clicks by weekday and hour of the
 * time zone.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import { type PeriodQuery, resolveOffsets } from "./period.ts";
import {
  BUCKET_RANGE,
  IN_CLASSES,
  QUARTER_MS,
  RAW_RANGE,
  readRows,
  tableOf,
  whereClicks,
} from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";
import { type AccountTimesResponse, completeFrom } from "./responses.ts";

const DAYS = 7;
const HOURS = 24;

/** 1 January 1970 was a Thursday, three days after a Monday. */
const EPOCH_WEEKDAY = 3;

/** An hour of the week; instants are Unix milliseconds. */
type Cell = { cell: number; counted: string; first: string; last: string };

/** Returns when people clicked, in the time zone of the request; throws `invalid_request`. */
export async function readTimes(
  query: AnalyticsQuery,
  request: PeriodQuery,
): Promise<AccountTimesResponse> {
  const rollup = rollupOf(query);
  const offsets = resolveOffsets(request, query.range);
  const cells = await readRows<Cell>(query, selectCells(query, rollup), {
    starts: offsets.map(({ from }) => Math.floor(from / 1_000)),
    offsets: offsets.map(({ seconds }) => seconds),
  });
  const heatmap = Array.from({ length: DAYS }, () => Array.from({ length: HOURS }, () => 0));
  let [first, last] = [Infinity, -Infinity];
  for (const { cell, counted, ...instants } of cells) {
    const day = heatmap[Math.floor(cell / HOURS)];
    if (day !== undefined) day[cell % HOURS] = Number(counted);
    first = Math.min(first, Number(instants.first));
    last = Math.max(last, Number(instants.last));
  }
  if (cells.length > 0 && rollup !== undefined)
    ({ first, last } = await readExactEnds(query, first, last));
  const toText = (ms: number) => (cells.length === 0 ? null : new Date(ms).toISOString());
  return {
    period: query.range.period,
    first_click_at: toText(first),
    last_click_at: toText(last),
    heatmap,
    ...completeFrom(query.range, query.filters.columns.size > 0),
  };
}

/** The rollup by quarter hour; undefined if raw clicks are needed. */
function rollupOf({ subject, range, filters }: AnalyticsQuery): string | undefined {
  if (filters.columns.size > 0 || tableOf({ ...range, buckets: [] }) === "clicks") return undefined;
  return subject === "account" ? "clicks_15m_of_account" : "clicks_15m";
}

/** Local time is UTC plus the offset in force. */
const selectCells = (query: AnalyticsQuery, rollup: string | undefined): string => `
  SELECT toUInt32((intDiv(local, ${DAY_SECONDS}) + ${EPOCH_WEEKDAY}) % ${DAYS} * ${HOURS} + intDiv(local % ${DAY_SECONDS}, ${HOUR_SECONDS})) AS cell,
         sum(weight) AS counted, min(at) AS first, max(at) AS last
    FROM (
      SELECT ${rollup === undefined ? "toUnixTimestamp64Milli(ts) AS at, 1 AS weight" : "toInt64(toUnixTimestamp(bucket)) * 1000 AS at, clicks AS weight"},
             intDiv(at, 1000) AS seconds,
             seconds + {offsets: Array(Int64)}[indexOf({starts: Array(Int64)}, roundDown(seconds, {starts: Array(Int64)}))] AS local
        FROM ${rollup ?? "clicks"}
       WHERE ${whereClicks(query)} AND ${rollup === undefined ? RAW_RANGE : BUCKET_RANGE} AND ${IN_CLASSES}
    )
   GROUP BY cell`;

/**
 * Reads the first and the last click, in Unix milliseconds, within the first and the last quarter
 * hour that has clicks. A deleted click counts as the start of its quarter hour.
 */
async function readExactEnds(query: AnalyticsQuery, first: number, last: number) {
  const [exact] = await readRows<{ first: string; last: string; counted: string }>(
    query,
    `SELECT toUnixTimestamp64Milli(min(ts)) AS first, toUnixTimestamp64Milli(max(ts)) AS last, count() AS counted
       FROM clicks
      WHERE ${whereClicks(query)} AND ${IN_CLASSES} AND ${RAW_RANGE}
        AND (ts < fromUnixTimestamp64Milli({first_end: Int64}) OR ts >= fromUnixTimestamp64Milli({last: Int64}))`,
    { first_end: first + QUARTER_MS, last },
  );
  if (exact === undefined || exact.counted === "0") return { first, last };
  const isRetained = first >= query.range.rawFrom;
  return { first: isRetained ? Number(exact.first) : first, last: Number(exact.last) };
}

/**
 * When people click: the first and the last click of a range, and clicks by weekday and hour of the
 * time zone.
 */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import { DAY_SECONDS, HOUR_SECONDS } from "../../shared/durations.ts";
import type { Condition } from "./filters.ts";
import type { Offset } from "./period.ts";
import { BUCKET_RANGE, clampInstant, type QueryRange, RAW_RANGE } from "./sources.ts";

const DAYS = 7;
const HOURS = 24;
const QUARTER_MS = 900_000;

/** 1 January 1970 was a Thursday, three days after a Monday. */
const EPOCH_WEEKDAY = 3;

export type Times = {
  /** Clicks by weekday, Monday first, and hour. */
  heatmap: number[][];
} & (
  | { first: undefined; last: undefined }
  /** Unix milliseconds. A deleted click counts as the start of its quarter hour. */
  | { first: number; last: number }
);

/**
 * The clicks to read: a condition with its parameters (including `classes`), and the rollup by
 * quarter hour that it applies to. Without a rollup, raw clicks are read.
 */
export type TimesScope = Condition & {
  rollup: "clicks_15m" | "clicks_15m_of_account" | undefined;
};

type Cell = { cell: number; counted: string; first: string; last: string };

/**
 * Counts the clicks of a scope by local weekday and hour. `offsets` are those of the time zone
 * within the range.
 */
export async function readTimes(
  clickhouse: ClickHouse,
  scope: TimesScope,
  range: QueryRange,
  offsets: readonly Offset[],
): Promise<Times> {
  const params = { ...scope.params, ...clampRange(range) };
  const cells = await queryRows<Cell>(clickhouse, selectCells(scope), {
    ...params,
    starts: offsets.map(({ from }) => Math.floor(from / 1_000)),
    offsets: offsets.map(({ seconds }) => seconds),
  });
  const times = toTimes(cells);
  if (scope.rollup === undefined || times.first === undefined) return times;
  // The first and last clicks are within the first and last quarter hour that has clicks.
  const [exact] = await queryRows<{ first: string; last: string; counted: string }>(
    clickhouse,
    `SELECT toUnixTimestamp64Milli(min(ts)) AS first, toUnixTimestamp64Milli(max(ts)) AS last, count() AS counted
       FROM clicks
      WHERE ${scope.condition} AND class IN {classes: Array(String)} AND ${RAW_RANGE}
        AND (ts < fromUnixTimestamp64Milli({first_end: Int64}) OR ts >= fromUnixTimestamp64Milli({last: Int64}))`,
    { ...params, first_end: times.first + QUARTER_MS, last: times.last },
  );
  if (exact === undefined || exact.counted === "0") return times;
  const first = times.first >= range.rawFrom ? Number(exact.first) : times.first;
  return { ...times, first, last: Number(exact.last) };
}

const clampRange = ({ from, to }: Pick<QueryRange, "from" | "to">) => ({
  from: clampInstant(from),
  to: clampInstant(to),
});

/** Local time is UTC plus the offset in force. */
const selectCells = ({ rollup, condition }: TimesScope): string => `
  SELECT toUInt32((intDiv(local, ${DAY_SECONDS}) + ${EPOCH_WEEKDAY}) % ${DAYS} * ${HOURS} + intDiv(local % ${DAY_SECONDS}, ${HOUR_SECONDS})) AS cell,
         sum(weight) AS counted, min(at) AS first, max(at) AS last
    FROM (
      SELECT ${rollup === undefined ? "toUnixTimestamp64Milli(ts) AS at, 1 AS weight" : "toInt64(toUnixTimestamp(bucket)) * 1000 AS at, clicks AS weight"},
             intDiv(at, 1000) AS seconds,
             seconds + {offsets: Array(Int64)}[indexOf({starts: Array(Int64)}, roundDown(seconds, {starts: Array(Int64)}))] AS local
        FROM ${rollup ?? "clicks"}
       WHERE ${condition} AND ${rollup === undefined ? RAW_RANGE : BUCKET_RANGE} AND class IN {classes: Array(String)}
    )
   GROUP BY cell`;

function toTimes(cells: readonly Cell[]): Times {
  const heatmap = Array.from({ length: DAYS }, () => Array.from({ length: HOURS }, () => 0));
  let [first, last] = [Infinity, -Infinity];
  for (const { cell, counted, ...instants } of cells) {
    const day = heatmap[Math.floor(cell / HOURS)];
    if (day !== undefined) day[cell % HOURS] = Number(counted);
    first = Math.min(first, Number(instants.first));
    last = Math.max(last, Number(instants.last));
  }
  return cells.length > 0
    ? { first, last, heatmap }
    : { first: undefined, last: undefined, heatmap };
}

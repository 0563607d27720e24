/** What the analytics endpoints ask of ClickHouse. */
import type { ClickHouseClient } from "@clickhouse/client";

import type { Uuid } from "../../shared/ids.ts";
import type { Range } from "./period.ts";

type Counts = { clicks: number; unique: number; bots: number };

export type SummaryCounts = {
  total: Counts;
  /** By the first instant of the bucket, in Unix milliseconds; buckets without clicks are absent. */
  buckets: Map<number, Counts>;
};

type Row = { is_total: number; start: number; clicks: string; unique: string; bots: string };

/**
 * Counts a link's clicks over the range, in all and by bucket. Distinct visitors are distinct over
 * whatever they are counted for, so those of buckets do not add up to the total.
 */
export async function countClicks(
  clickhouse: ClickHouseClient,
  linkId: Uuid,
  range: Range,
): Promise<SummaryCounts> {
  const result = await clickhouse.query({
    query: `
      SELECT grouping(start) AS is_total,
             roundDown(toUnixTimestamp(ts), {starts: Array(UInt32)}) AS start,
             countIf(class = 'human') AS clicks,
             uniqExactIf(visitor, class = 'human') AS unique,
             countIf(class = 'bot') AS bots
        FROM clicks
       WHERE link_id = {link_id: UUID}
         AND ts >= fromUnixTimestamp64Milli({from: Int64})
         AND ts < fromUnixTimestamp64Milli({to: Int64})
       GROUP BY GROUPING SETS ((start), ())`,
    query_params: {
      link_id: linkId,
      from: range.from,
      to: range.to,
      starts: range.buckets.map((bucket) => bucket.start / 1_000),
    },
    format: "JSONEachRow",
  });
  const rows = await result.json<Row>();
  const buckets = new Map<number, Counts>();
  let total: Counts = { clicks: 0, unique: 0, bots: 0 };
  for (const row of rows) {
    const counts = {
      clicks: Number(row.clicks),
      unique: Number(row.unique),
      bots: Number(row.bots),
    };
    if (row.is_total === 1) total = counts;
    else buckets.set(row.start * 1_000, counts);
  }
  return { total, buckets };
}

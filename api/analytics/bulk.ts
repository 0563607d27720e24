/** Figures of many links in one question. */
import type { ClickHouseClient } from "@clickhouse/client";

import type { Uuid } from "../../shared/ids.ts";
import type { Range } from "./period.ts";

/** Countries told of a link. */
const TOP_COUNTRIES = 5;

export type BulkFigures = { clicks: number; unique_clicks: number; top_countries: string[] };

/** The figures of those links that have clicks in the range. */
export async function countMany(
  clickhouse: ClickHouseClient,
  linkIds: readonly Uuid[],
  range: Pick<Range, "from" | "to">,
): Promise<Map<Uuid, BulkFigures>> {
  const result = await clickhouse.query({
    query: `
      SELECT link_id,
             sum(country_clicks) AS clicks,
             uniqExactMerge(visitors) AS unique_clicks,
             arraySlice(arrayMap(pair -> pair.2,
               arraySort(groupArray((-toInt64(country_clicks), country)))), 1, {top: UInt8}) AS top_countries
        FROM (
          SELECT link_id, country, count() AS country_clicks, uniqExactState(visitor) AS visitors
            FROM clicks
           WHERE link_id IN {link_ids: Array(UUID)}
             AND ts >= fromUnixTimestamp64Milli({from: Int64})
             AND ts < fromUnixTimestamp64Milli({to: Int64})
             AND class = 'human'
           GROUP BY link_id, country
        )
       GROUP BY link_id`,
    query_params: { link_ids: [...linkIds], from: range.from, to: range.to, top: TOP_COUNTRIES },
    format: "JSONEachRow",
  });
  const rows = await result.json<{
    link_id: Uuid;
    clicks: string;
    unique_clicks: string;
    top_countries: string[];
  }>();
  return new Map(
    rows.map((row) => [
      row.link_id,
      {
        clicks: Number(row.clicks),
        unique_clicks: Number(row.unique_clicks),
        top_countries: row.top_countries,
      },
    ]),
  );
}

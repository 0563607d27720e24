/** Figures of many links in one go. */
import { askRows, type ClickHouse } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import {
  type AskedRange,
  BUCKET_RANGE,
  BY_DIMENSION,
  dayParams,
  dayParts,
  EXACT_CLICKS_MAX,
  RAW_RANGE,
  timeSource,
} from "./sources.ts";

/** Countries told of a link. */
const TOP_COUNTRIES = 5;

export type BulkFigures = { clicks: number; unique_clicks: number; top_countries: string[] };

/** The figures of those links that have clicks in the range, which must be a period's. */
export async function countMany(
  clickhouse: ClickHouse,
  linkIds: readonly Uuid[],
  range: AskedRange,
): Promise<Map<Uuid, BulkFigures>> {
  const parts = dayParts(range);
  const { table, raw } = timeSource(range);
  if (parts === undefined || raw)
    throw new Error("Periods begin and end with a quarter of an hour.");
  const params = { links: linkIds, from: range.from, to: range.to };
  const [counts, countries] = await Promise.all([
    askRows<{ link_id: Uuid; humans: string }>(
      clickhouse,
      `SELECT link_id, sum(clicks) AS humans
         FROM ${table}
        WHERE link_id IN {links: Array(UUID)} AND ${BUCKET_RANGE} AND class = 'human'
        GROUP BY link_id`,
      params,
    ),
    askRows<{ link_id: Uuid; country: string }>(
      clickhouse,
      `SELECT link_id, value AS country
         FROM ${BY_DIMENSION("link_id IN {links: Array(UUID)} AND dimension = 'country'")}
        GROUP BY link_id, country
        ORDER BY link_id, sum(clicks) DESC, country
        LIMIT {top: UInt8} BY link_id`,
      { links: linkIds, top: TOP_COUNTRIES, ...dayParams(range, parts) },
    ),
  ]);
  const figures = new Map(
    counts.map(({ link_id, humans }): [Uuid, BulkFigures] => [
      link_id,
      { clicks: Number(humans), unique_clicks: 0, top_countries: [] },
    ]),
  );
  for (const { link_id, country } of countries) figures.get(link_id)?.top_countries.push(country);
  const isFew = ({ clicks }: BulkFigures) => range.held && clicks <= EXACT_CLICKS_MAX;
  const few = [...figures].filter(([, found]) => isFew(found));
  const many = [...figures].filter(([, found]) => !isFew(found));
  const visitors = await Promise.all([
    askVisitors(few, "uniqExact(visitor)", `clicks WHERE ${RAW_RANGE}`),
    askVisitors(many, "uniqCombined64Merge(14)(visitors)", `${table} WHERE ${BUCKET_RANGE}`),
  ]);
  for (const { link_id, unique_clicks } of visitors.flat()) {
    const found = figures.get(link_id);
    if (found !== undefined) found.unique_clicks = Number(unique_clicks);
  }
  return figures;

  async function askVisitors(links: typeof few, expression: string, from: string) {
    if (links.length === 0) return [];
    return await askRows<{ link_id: Uuid; unique_clicks: string }>(
      clickhouse,
      `SELECT link_id, ${expression} AS unique_clicks
         FROM ${from} AND link_id IN {links: Array(UUID)} AND class = 'human'
        GROUP BY link_id`,
      { ...params, links: links.map(([id]) => id) },
    );
  }
}

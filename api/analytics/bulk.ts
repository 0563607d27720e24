/** Counts clicks, visitors and top countries of many links with a constant number of queries. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import { fromDimensions } from "./dimensions.ts";
import { allOf, needsRawClicks, type Selection } from "./filters.ts";
import {
  ANALYTICS_EXACT_CLICKS_MAX,
  BUCKET_RANGE,
  ESTIMATED_VISITORS,
  EXACT_VISITORS,
  hasRawClicks,
  type QueryRange,
  RAW_RANGE,
  timeSource,
} from "./sources.ts";

/** Countries in the response per link. */
const TOP_COUNTRIES = 5;

export type LinkCounts = { clicks: number; unique_clicks: number; top_countries: string[] };

/**
 * Counts the links that have clicks in the range. The range must start and end on a quarter of an hour, as
 * those of all named periods do.
 */
export async function countMany(
  clickhouse: ClickHouse,
  linkIds: readonly Uuid[],
  range: QueryRange,
  selection: Selection,
): Promise<Map<Uuid, LinkCounts>> {
  const { table, raw } = timeSource(range);
  if (raw) throw new Error("The range must consist of whole quarters of hours.");
  const scope = allOf(
    { condition: "link_id IN {links: Array(UUID)}", params: { links: linkIds } },
    selection.links,
    selection.columns,
  );
  const byCountry = fromDimensions(
    {
      condition: scope.condition,
      subjects: allOf(
        { condition: "subject_id IN {links: Array(UUID)}", params: {} },
        selection.subjects,
      ).condition,
      params: { ...scope.params, classes: selection.classes },
      lowVolume: false,
      onlyRaw: needsRawClicks(selection),
    },
    ["country"],
    range,
    true,
  );
  const where = `${scope.condition} AND class IN {classes: Array(String)}`;
  const params = {
    ...scope.params,
    classes: selection.classes,
    from: range.from,
    to: range.to,
  };
  const [counts, countries] = await Promise.all([
    queryRows<{ link_id: Uuid; counted: string }>(
      clickhouse,
      `SELECT link_id, ${selection.columns === undefined ? "sum(clicks)" : "count()"} AS counted
         FROM ${selection.columns === undefined ? `${table} WHERE ${BUCKET_RANGE}` : `clicks WHERE ${RAW_RANGE}`}
          AND ${where}
        GROUP BY link_id`,
      params,
    ),
    queryRows<{ link_id: Uuid; country: string }>(
      clickhouse,
      `SELECT link_id, value AS country
         FROM ${byCountry.from}
        GROUP BY link_id, country
        ORDER BY link_id, sum(clicks) DESC, country
        LIMIT {top: UInt8} BY link_id`,
      { top: TOP_COUNTRIES, ...byCountry.params },
    ),
  ]);
  const countsByLink = new Map(
    counts.map(({ link_id, counted }): [Uuid, LinkCounts] => [
      link_id,
      { clicks: Number(counted), unique_clicks: 0, top_countries: [] },
    ]),
  );
  for (const { link_id, country } of countries)
    countsByLink.get(link_id)?.top_countries.push(country);
  const isExact = ({ clicks }: LinkCounts) =>
    clicks <= ANALYTICS_EXACT_CLICKS_MAX &&
    (hasRawClicks(range) || selection.columns !== undefined);
  const exact = [...countsByLink].filter(([, link]) => isExact(link));
  const estimated = [...countsByLink].filter(([, link]) => !isExact(link));
  const fromRaw = `clicks WHERE ${RAW_RANGE}`;
  const visitors = await Promise.all([
    countVisitors(exact, EXACT_VISITORS, fromRaw),
    selection.columns === undefined
      ? countVisitors(
          estimated,
          "uniqCombined64Merge(14)(visitors)",
          `${table} WHERE ${BUCKET_RANGE}`,
        )
      : countVisitors(estimated, ESTIMATED_VISITORS, fromRaw),
  ]);
  for (const { link_id, unique_clicks } of visitors.flat()) {
    const link = countsByLink.get(link_id);
    if (link !== undefined) link.unique_clicks = Number(unique_clicks);
  }
  return countsByLink;

  async function countVisitors(links: typeof exact, expression: string, from: string) {
    if (links.length === 0) return [];
    return await queryRows<{ link_id: Uuid; unique_clicks: string }>(
      clickhouse,
      `SELECT link_id, ${expression} AS unique_clicks
         FROM ${from} AND ${where}
        GROUP BY link_id`,
      { ...params, links: links.map(([id]) => id) },
    );
  }
}

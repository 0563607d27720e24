/** Counts clicks, visitors and top countries of many links with a constant number of queries. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import { fromDimensions } from "./dimensions.ts";
import { allOf, type Condition, needsRawClicks, type Selection } from "./filters.ts";
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

/** What all queries of one request have in common. */
type LinksQuery = {
  clickhouse: ClickHouse;
  linkIds: readonly Uuid[];
  range: QueryRange;
  selection: Selection;
  /** The condition on clicks and on rollups by link, with the parameters of all queries. */
  where: string;
  params: Record<string, unknown>;
  /** The rollup, with the condition on its range; single clicks if filters need them. */
  counted: string;
};

/**
 * Counts the links that have clicks in the range. The range must start and end on a quarter of an
 * hour, as those of all named periods do.
 */
export async function countMany(
  clickhouse: ClickHouse,
  linkIds: readonly Uuid[],
  range: QueryRange,
  selection: Selection,
): Promise<Map<Uuid, LinkCounts>> {
  const { table, raw } = timeSource(range);
  if (raw) throw new Error("The range must consist of whole quarters of hours.");
  const scope = scopeOf(linkIds, selection);
  const query: LinksQuery = {
    clickhouse,
    linkIds,
    range,
    selection,
    where: `${scope.condition} AND class IN {classes: Array(String)}`,
    params: { ...scope.params, classes: selection.classes, from: range.from, to: range.to },
    counted:
      selection.columns === undefined ? `${table} WHERE ${BUCKET_RANGE}` : FROM_SINGLE_CLICKS,
  };
  const [counts, countries] = await Promise.all([countClicks(query), listTopCountries(query)]);
  const countsByLink = new Map(
    counts.map(({ link_id, counted }): [Uuid, LinkCounts] => [
      link_id,
      { clicks: Number(counted), unique_clicks: 0, top_countries: [] },
    ]),
  );
  for (const { link_id, country } of countries)
    countsByLink.get(link_id)?.top_countries.push(country);
  for (const { link_id, unique_clicks } of await countVisitors(query, countsByLink)) {
    const link = countsByLink.get(link_id);
    if (link !== undefined) link.unique_clicks = Number(unique_clicks);
  }
  return countsByLink;
}

const FROM_SINGLE_CLICKS = `clicks WHERE ${RAW_RANGE}`;

const scopeOf = (linkIds: readonly Uuid[], { links, columns }: Selection): Condition =>
  allOf(
    { condition: "link_id IN {links: Array(UUID)}", params: { links: linkIds } },
    links,
    columns,
  );

const countClicks = ({ clickhouse, selection, where, params, counted }: LinksQuery) =>
  queryRows<{ link_id: Uuid; counted: string }>(
    clickhouse,
    `SELECT link_id, ${selection.columns === undefined ? "sum(clicks)" : "count()"} AS counted
       FROM ${counted}
        AND ${where}
      GROUP BY link_id`,
    params,
  );

function listTopCountries({ clickhouse, linkIds, range, selection }: LinksQuery) {
  const { condition, params } = scopeOf(linkIds, selection);
  const byCountry = fromDimensions(
    {
      condition,
      subjects: allOf(
        { condition: "subject_id IN {links: Array(UUID)}", params: {} },
        selection.subjects,
      ).condition,
      params: { ...params, classes: selection.classes },
      lowVolume: false,
      onlyRaw: needsRawClicks(selection),
    },
    ["country"],
    range,
    true,
  );
  return queryRows<{ link_id: Uuid; country: string }>(
    clickhouse,
    `SELECT link_id, value AS country
       FROM ${byCountry.from}
      GROUP BY link_id, country
      ORDER BY link_id, sum(clicks) DESC, country
      LIMIT {top: UInt8} BY link_id`,
    { top: TOP_COUNTRIES, ...byCountry.params },
  );
}

/** Counts the visitors of links: exactly where a link has few clicks, else estimated. */
async function countVisitors(query: LinksQuery, countsByLink: ReadonlyMap<Uuid, LinkCounts>) {
  const { range, selection, counted } = query;
  const isExact = ({ clicks }: LinkCounts) =>
    clicks <= ANALYTICS_EXACT_CLICKS_MAX &&
    (hasRawClicks(range) || selection.columns !== undefined);
  const estimate =
    selection.columns === undefined ? "uniqCombined64Merge(14)(visitors)" : ESTIMATED_VISITORS;
  const links = Map.groupBy(countsByLink, ([, link]) => isExact(link));
  const idsOf = (exact: boolean) => (links.get(exact) ?? []).map(([id]) => id);
  const visitors = await Promise.all([
    countVisitorsOf(query, idsOf(true), EXACT_VISITORS, FROM_SINGLE_CLICKS),
    countVisitorsOf(query, idsOf(false), estimate, counted),
  ]);
  return visitors.flat();
}

async function countVisitorsOf(
  { clickhouse, where, params }: LinksQuery,
  links: readonly Uuid[],
  expression: string,
  from: string,
) {
  if (links.length === 0) return [];
  return await queryRows<{ link_id: Uuid; unique_clicks: string }>(
    clickhouse,
    `SELECT link_id, ${expression} AS unique_clicks
       FROM ${from} AND ${where}
      GROUP BY link_id`,
    { ...params, links },
  );
}

/** Counts clicks, visitors and top countries of many links with a constant number of queries. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import { fromDimensions } from "./dimensions.ts";
import { allOf, type Condition, needsRawClicks, type Selection } from "./filters.ts";
import {
  ANALYTICS_EXACT_CLICKS_MAX,
  BUCKET_RANGE,
  clampInstant,
  ESTIMATED_VISITORS,
  EXACT_VISITORS,
  hasRawClicks,
  QUARTER_MS,
  RAW_RANGE,
  timeSource,
} from "./sources.ts";
import type { CurrentRange } from "./summary.ts";

/** Countries in the response per link. */
const TOP_COUNTRIES = 5;

export type LinkCounts = { clicks: number; unique_clicks: number; top_countries: string[] };

/** What all queries of one request have in common. */
type LinksQuery = {
  clickhouse: ClickHouse;
  linkIds: readonly Uuid[];
  range: CurrentRange;
  selection: Selection;
  /** The condition on clicks and on rollups by link, with the parameters of all queries. */
  where: string;
  params: Record<string, unknown>;
  /** The rollup or single clicks, with the condition on the range. */
  counted: string;
  /** Whether these are single clicks: filters need them, or the range is within a quarter hour. */
  isSingle: boolean;
};

/** Counts the links that have clicks in the range. */
export async function countMany(
  clickhouse: ClickHouse,
  linkIds: readonly Uuid[],
  requested: CurrentRange,
  selection: Selection,
): Promise<Map<Uuid, LinkCounts>> {
  const range = beyondNow(requested);
  const { table, raw } = timeSource(range);
  const isSingle = raw || selection.columns !== undefined;
  const scope = scopeOf(linkIds, selection);
  const query: LinksQuery = {
    clickhouse,
    linkIds,
    range,
    selection,
    where: `${scope.condition} AND class IN {classes: Array(String)}`,
    params: {
      ...scope.params,
      classes: selection.classes,
      from: clampInstant(range.from),
      to: clampInstant(range.to),
    },
    counted: isSingle ? FROM_SINGLE_CLICKS : `${table} WHERE ${BUCKET_RANGE}`,
    isSingle,
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

/** A range up to now ends with its quarter hour: a rollup has it, and no click is later. */
const beyondNow = (range: CurrentRange): CurrentRange =>
  range.to < range.now ? range : { ...range, to: Math.ceil(range.to / QUARTER_MS) * QUARTER_MS };

const FROM_SINGLE_CLICKS = `clicks WHERE ${RAW_RANGE}`;

const scopeOf = (linkIds: readonly Uuid[], { links, columns }: Selection): Condition =>
  allOf(
    { condition: "link_id IN {links: Array(UUID)}", params: { links: linkIds } },
    links,
    columns,
  );

const countClicks = ({ clickhouse, where, params, counted, isSingle }: LinksQuery) =>
  queryRows<{ link_id: Uuid; counted: string }>(
    clickhouse,
    `SELECT link_id, ${isSingle ? "count()" : "sum(clicks)"} AS counted
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
  const { range, selection, counted, isSingle } = query;
  const isExact = ({ clicks }: LinkCounts) =>
    clicks <= ANALYTICS_EXACT_CLICKS_MAX &&
    (hasRawClicks(range) || selection.columns !== undefined);
  const estimate = isSingle ? ESTIMATED_VISITORS : "uniqCombined64Merge(14)(visitors)";
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

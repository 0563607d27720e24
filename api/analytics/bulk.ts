/** Counts clicks, visitors and top countries of many links with a constant number of queries. */
import { decodeId, type Uuid } from "../../shared/ids.ts";
import type { BulkBody } from "./model.ts";
import {
  allOf,
  ANALYTICS_EXACT_CLICKS_MAX,
  BUCKET_RANGE,
  ESTIMATED_VISITORS,
  EXACT_VISITORS,
  hasRawClicks,
  IN_CLASSES,
  RAW_RANGE,
  readRows,
  roundUpToQuarter,
  tableOf,
  whereClicks,
} from "./plan.ts";
import type { AnalyticsQuery } from "./query-resolver.ts";
import { type BulkResponse, completeFrom } from "./responses.ts";
import { selectByDimension } from "./top-values.ts";

/** Countries in the response per link. */
const TOP_COUNTRIES = 5;

/** A query about several links. */
type LinksQuery = AnalyticsQuery & { subject: { links: readonly Uuid[] } };

type LinkCounts = { clicks: number; unique_clicks: number; top_countries: string[] };

const NO_CLICKS: LinkCounts = { clicks: 0, unique_clicks: 0, top_countries: [] };

/** Returns the requested metrics of the query's links; lists the other links in `errors`. */
export async function readLinks(
  query: LinksQuery,
  { link_ids, metrics }: BulkBody,
): Promise<BulkResponse> {
  const counted = await countLinks({ ...query, range: roundUpToQuarter(query.range) });
  const known = new Set(query.subject.links);
  const needsRaw = query.filters.columns.size > 0;
  const response: BulkResponse = { data: [], ...completeFrom(query.range, needsRaw) };
  for (const link_id of link_ids) {
    const uuid = decodeId("link", link_id);
    if (uuid === undefined || !known.has(uuid)) {
      response.errors ??= [];
      response.errors.push({ link_id, code: "not_found", message: "The link does not exist." });
      continue;
    }
    const counts = counted.get(uuid) ?? NO_CLICKS;
    const values = Object.fromEntries(metrics.map((metric) => [metric, counts[metric]]));
    response.data.push({ link_id, ...values });
  }
  return response;
}

/** Counts the links that have clicks in the range. */
async function countLinks(query: LinksQuery): Promise<Map<Uuid, LinkCounts>> {
  const table = query.filters.columns.size > 0 ? "clicks" : tableOf(query.range);
  const [counts, countries] = await Promise.all([
    countClicksByLink(query, table),
    listTopCountries(query),
  ]);
  const byLink = new Map(
    counts.map(({ link_id, counted }): [Uuid, LinkCounts] => [
      link_id,
      { clicks: Number(counted), unique_clicks: 0, top_countries: [] },
    ]),
  );
  for (const { link_id, country } of countries) byLink.get(link_id)?.top_countries.push(country);
  for (const { link_id, unique_clicks } of await countVisitorsByLink(query, table, byLink)) {
    const link = byLink.get(link_id);
    if (link !== undefined) link.unique_clicks = Number(unique_clicks);
  }
  return byLink;
}

/** The clicks of the query in raw clicks or in a rollup by link. */
const from = (query: LinksQuery, table: string): string =>
  `${table} WHERE ${allOf(whereClicks(query), table === "clicks" ? RAW_RANGE : BUCKET_RANGE, IN_CLASSES)}`;

const countClicksByLink = (query: LinksQuery, table: string) =>
  readRows<{ link_id: Uuid; counted: string }>(
    query,
    `SELECT link_id, ${table === "clicks" ? "count()" : "sum(clicks)"} AS counted
       FROM ${from(query, table)}
      GROUP BY link_id`,
  );

function listTopCountries(query: LinksQuery) {
  const byCountry = selectByDimension(query, ["country"], true);
  return readRows<{ link_id: Uuid; country: string }>(
    query,
    `SELECT link_id, value AS country
       FROM ${byCountry.from}
      GROUP BY link_id, value
      ORDER BY link_id, sum(clicks) DESC, value
      LIMIT {top: UInt8} BY link_id`,
    { top: TOP_COUNTRIES, ...byCountry.params },
  );
}

/** Counts the visitors of links: exactly where a link has few clicks, else estimated. */
async function countVisitorsByLink(
  query: LinksQuery,
  table: string,
  byLink: ReadonlyMap<Uuid, LinkCounts>,
) {
  const { range, filters } = query;
  const isRetained = hasRawClicks(range) || filters.columns.size > 0;
  const groups = Map.groupBy(
    byLink,
    ([, { clicks }]) => isRetained && clicks <= ANALYTICS_EXACT_CLICKS_MAX,
  );
  const read = async (isExact: boolean, visitors: string, source: string) => {
    const links = groups.get(isExact)?.map(([id]) => id) ?? [];
    if (links.length === 0) return [];
    return await readRows<{ link_id: Uuid; unique_clicks: string }>(
      { ...query, subject: { links } },
      `SELECT link_id, ${visitors} AS unique_clicks
         FROM ${from(query, source)}
        GROUP BY link_id`,
    );
  };
  const estimate = table === "clicks" ? ESTIMATED_VISITORS : "uniqCombined64Merge(14)(visitors)";
  const visitors = await Promise.all([
    read(true, EXACT_VISITORS, "clicks"),
    read(false, estimate, table),
  ]);
  return visitors.flat();
}

/** Sums up an account's clicks by tag or domain of the links, which PostgreSQL stores. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { BreakdownPage } from "./breakdown-by.ts";
import type { BreakdownScope } from "./dimensions.ts";
import { clampInstant, type QueryRange, RAW_RANGE } from "./sources.ts";
import { countVisitors } from "./visitors.ts";

export const LINK_PROPERTIES = ["tag", "domain"] as const;

export type LinkProperty = (typeof LINK_PROPERTIES)[number];

/** Maximum links of one query: each is a row of ClickHouse's response. */
const LINKS_MAX = 100_000;

type ReadProperties = (
  ids: readonly Uuid[],
) => Promise<ReadonlyMap<Uuid, { tags: string[]; domain: string }>>;

type LinkTotals = { link_id: Uuid; counted: string; visitors: string };

/**
 * Returns the tags or domains with the most clicks; ties sort by name. A click counts for every tag
 * of its link. Visitors are distinct per link, so those of several links are added up. Throws
 * `invalid_request` beyond {@link LINKS_MAX} links with clicks.
 */
export async function breakDownByProperty(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: Pick<QueryRange, "from" | "to">,
  property: LinkProperty,
  limit: number,
  readProperties: ReadProperties,
): Promise<BreakdownPage> {
  const params = {
    ...scope.params,
    from: clampInstant(range.from),
    to: clampInstant(range.to),
    links: LINKS_MAX + 1,
  };
  const query = (visitors: string) =>
    queryRows<LinkTotals>(
      clickhouse,
      `SELECT link_id, count() AS counted, ${visitors} AS visitors
         FROM clicks
        WHERE ${scope.condition} AND ${RAW_RANGE} AND class IN {classes: Array(String)}
        GROUP BY link_id
        LIMIT {links: UInt32}`,
      params,
    );
  const links = await countVisitors(query, totalOf, () => scope.isFew(clickhouse, range));
  if (links.length > LINKS_MAX) {
    throw new ApiError(
      "invalid_request",
      `More than ${LINKS_MAX} links have clicks in this period: choose a shorter one, or filter.`,
    );
  }
  const properties = await readProperties(links.map(({ link_id }) => link_id));
  const sums = new Map<string, { clicks: number; unique_clicks: number }>();
  for (const { link_id, counted, visitors } of links) {
    const found = properties.get(link_id);
    for (const name of property === "tag" ? (found?.tags ?? []) : [found?.domain ?? ""]) {
      const sum = sums.get(name) ?? { clicks: 0, unique_clicks: 0 };
      sum.clicks += Number(counted);
      sum.unique_clicks += Number(visitors);
      sums.set(name, sum);
    }
  }
  const rows = [...sums]
    .map(([name, sum]) => ({ values: { [property]: name }, ...sum }))
    .toSorted((a, b) => b.clicks - a.clicks || compare(a.values[property], b.values[property]))
    .slice(0, limit);
  return { rows, total: totalOf(links), next_cursor: null };
}

const totalOf = (links: readonly LinkTotals[]): number =>
  links.reduce((sum, { counted }) => sum + Number(counted), 0);

const compare = (a = "", b = ""): number => (a < b ? -1 : Number(a > b));

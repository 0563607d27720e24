/** Totals of links, which their counters have: sums of their days. */
import type { Uuid } from "../ids.ts";
import { type ClickHouseReader, queryRows } from "./query.ts";

/** The rollup that counters are read from. */
export const TOTALS_TABLE = "clicks_1d";

export type Totals = { clicks: number; unique_clicks: number; bot_clicks: number };

/** Of a link without clicks. */
export const NO_TOTALS: Totals = { clicks: 0, unique_clicks: 0, bot_clicks: 0 };

/**
 * Up to this many clicks of all classes, a link's `unique_clicks` is the exact number of distinct
 * visitors; beyond, it is estimated from the rollup (0.8 % error). The API's
 * `ANALYTICS_EXACT_CLICKS_MAX` (api/analytics/plan.ts) is higher, as the API counts on request
 * and this after every click. Between the two limits, `unique_clicks` can differ from the exact
 * analytics by 0.8 %; above both, both are estimates.
 */
const COUNTERS_EXACT_CLICKS_MAX = 10_000;

/**
 * Up to this many visitors, the rollup's number is exact as well: a state is a set of up to 512
 * hashes before it becomes an estimate. So the raw clicks of most links are not read.
 */
const EXACT_STATE_VISITORS_MAX = 400;

/** Reads the totals of these links; of one without clicks none. */
export async function readTotals(
  clickhouse: ClickHouseReader,
  linkIds: readonly Uuid[],
): Promise<Map<Uuid, Totals>> {
  const rows = await queryRows<TotalsRow>(
    clickhouse,
    `SELECT link_id,
            sumIf(clicks, class = 'human') AS human_clicks,
            sumIf(clicks, class = 'bot') AS bot_clicks,
            sum(clicks) AS all_clicks,
            uniqCombined64MergeIf(14)(visitors, class = 'human') AS visitors
       FROM ${TOTALS_TABLE}
      WHERE link_id IN {link_ids: Array(UUID)}
      GROUP BY link_id`,
    { link_ids: linkIds },
  );
  const toCount = rows.filter(
    (row) =>
      Number(row.visitors) > EXACT_STATE_VISITORS_MAX &&
      Number(row.all_clicks) <= COUNTERS_EXACT_CLICKS_MAX,
  );
  const exact = await countVisitors(
    clickhouse,
    toCount.map((row) => row.link_id),
  );
  return new Map(
    rows.map((row) => [
      row.link_id,
      {
        clicks: Number(row.human_clicks),
        unique_clicks: exact.get(row.link_id) ?? Number(row.visitors),
        bot_clicks: Number(row.bot_clicks),
      },
    ]),
  );
}

type TotalsRow = Record<
  "link_id" | "human_clicks" | "bot_clicks" | "all_clicks" | "visitors",
  string
>;

/** Counts the visitors of links with at most {@link COUNTERS_EXACT_CLICKS_MAX} raw clicks each. */
async function countVisitors(
  clickhouse: ClickHouseReader,
  linkIds: readonly Uuid[],
): Promise<Map<Uuid, number>> {
  if (linkIds.length === 0) return new Map();
  const rows = await queryRows<{ link_id: Uuid; visitors: string }>(
    clickhouse,
    `SELECT link_id, uniqExact(nullIf(visitor, 0)) AS visitors
       FROM clicks
      WHERE link_id IN {link_ids: Array(UUID)} AND class = 'human'
      GROUP BY link_id`,
    { link_ids: linkIds },
  );
  return new Map(rows.map((row) => [row.link_id, Number(row.visitors)]));
}

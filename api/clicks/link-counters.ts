/** The counters of links, where clicks of them are imported or deleted. */
import { type ClickHouseReader, queryRows } from "../../shared/clicks/query.ts";
import { NO_TOTALS, readTotals, type Totals, TOTALS_TABLE } from "../../shared/clicks/totals.ts";
import type { Uuid } from "../../shared/ids.ts";
import { errorCode, type Sql, type Transaction } from "../postgres.ts";

/** Clicks of people and of bots that a link loses. */
export type LinkLoss = { link_id: Uuid; humans: number; bots: number };

/** What a link has; the last click is in Unix milliseconds, 0 for none. */
export type LinkFigures = Totals & { link_id: Uuid; last_click: number };

/** Counts, before they are deleted, the clicks of each link that a condition selects. */
export async function readLosses(
  clickhouse: ClickHouseReader,
  condition: string,
  parameters: Record<string, unknown>,
): Promise<LinkLoss[]> {
  const rows = await queryRows<Record<"link_id" | "humans" | "bots", string>>(
    clickhouse,
    `SELECT link_id, sumIf(clicks, class = 'human') AS humans, sumIf(clicks, class = 'bot') AS bots
       FROM ${TOTALS_TABLE} WHERE ${condition} GROUP BY link_id`,
    parameters,
  );
  return rows.map(({ link_id, humans, bots }) => ({
    link_id,
    humans: Number(humans),
    bots: Number(bots),
  }));
}

/**
 * Lowers counters by what links have lost, to what they have now at least: a counter alone has
 * clicks whose rollups have expired.
 */
export async function lowerCounters(
  sql: Sql | Transaction,
  lost: readonly LinkLoss[],
  left: readonly LinkFigures[],
): Promise<void> {
  const figures = new Map(left.map((row) => [row.link_id, row]));
  const rows = lost.flatMap(({ link_id, humans, bots }) => {
    const row = figures.get(link_id);
    return row === undefined ? [] : [{ humans, bots, ...row }];
  });
  await sql`
    update link_counters counters
       set clicks = greatest(counters.clicks - lost.humans, lost.clicks),
           bot_clicks = greatest(counters.bot_clicks - lost.bots, lost.bot_clicks),
           unique_clicks = least(lost.unique_clicks, greatest(counters.clicks - lost.humans, lost.clicks)),
           last_click_at = least(counters.last_click_at, to_timestamp(lost.last_click / 1000.0))
      from jsonb_to_recordset(${sql.json(rows)}::jsonb)
           lost (link_id uuid, humans bigint, bots bigint, clicks bigint, bot_clicks bigint, unique_clicks bigint, last_click bigint)
     where counters.link_id = lost.link_id`;
}

/** Reads the totals and the last clicks of links, 0 for none. */
export async function readFigures(
  clickhouse: ClickHouseReader,
  links: readonly Uuid[],
): Promise<LinkFigures[]> {
  const totals = await readTotals(clickhouse, links);
  const lastClicks = await readLastClicks(clickhouse, links);
  return links.map((link_id) => ({
    link_id,
    ...(totals.get(link_id) ?? NO_TOTALS),
    last_click: lastClicks.get(link_id) ?? 0,
  }));
}

/**
 * Reads the last clicks by people, in Unix milliseconds; where retention has deleted the click, the
 * start of its day.
 */
async function readLastClicks(
  clickhouse: ClickHouseReader,
  links: readonly Uuid[],
): Promise<Map<Uuid, number>> {
  const rows = await queryRows<{ link_id: Uuid; last_click: string }>(
    clickhouse,
    `SELECT link_id, max(at) AS last_click
       FROM (
         SELECT link_id, toUnixTimestamp64Milli(max(ts)) AS at FROM clicks
          WHERE link_id IN {links: Array(UUID)} AND class = 'human' GROUP BY link_id
         UNION ALL
         SELECT link_id, toInt64(toUnixTimestamp(max(bucket))) * 1000 AS at FROM ${TOTALS_TABLE}
          WHERE link_id IN {links: Array(UUID)} AND class = 'human' GROUP BY link_id
       )
      GROUP BY link_id`,
    { links },
  );
  return new Map(rows.map(({ link_id, last_click }) => [link_id, Number(last_click)]));
}

/** The SQLSTATE of a transaction that was aborted to resolve a deadlock, and maximum attempts. */
const DEADLOCK = "40P01";
const ATTEMPTS_MAX = 20;

/**
 * Repeats work that PostgreSQL aborted because of a deadlock: workers write the counters of the
 * same links in another order.
 */
export async function retryDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) !== DEADLOCK || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

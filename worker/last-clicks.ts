/**
 * Last clicks of links by people, from ClickHouse. The worker that stores clicks knows the times of
 * those; these queries are for clicks that another worker has stored. No rollup has exact times:
 * one more column in each would cost every insert.
 */
import { type ClickHouse, clickTime, queryRows } from "../shared/clicks/query.ts";
import type { Uuid } from "../shared/ids.ts";

type LastClick = { link_id: Uuid; last_click: string };

/**
 * Returns the last click of each of these links since a time in Unix seconds, in Unix milliseconds.
 */
export async function readLastClicks(
  clickhouse: Pick<ClickHouse, "query">,
  linkIds: readonly Uuid[],
  since: number,
): Promise<Map<Uuid, number>> {
  const rows = await queryRows<LastClick>(
    clickhouse,
    `SELECT link_id, toUnixTimestamp64Milli(max(ts)) AS last_click
       FROM clicks
      WHERE link_id IN {link_ids: Array(UUID)} AND class = 'human' AND ts >= ${clickTime("since")}
      GROUP BY link_id`,
    { link_ids: linkIds, since },
  );
  return new Map(rows.map(({ link_id, last_click }) => [link_id, Number(last_click)]));
}

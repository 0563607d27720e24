/**
 * Last clicks of links by people, from ClickHouse. The worker that stores clicks knows the times of
 * those; these queries are for clicks that another worker has stored. No rollup has exact times:
 * one more column in each would cost every insert.
 */
import type postgres from "postgres";

import { type ClickHouse, clickTime, queryRows } from "../shared/clicks/query.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";

/** Links of one part of the filling. */
const FILLED_AT_ONCE = 10_000;

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

/**
 * Where last clicks are read from when they are filled. Where retention has deleted a link's
 * clicks, the beginning of the last quarter of an hour that has some.
 */
const SOURCES = [
  { table: "clicks_15m", time: "toUnixTimestamp(max(bucket)) * 1000" },
  { table: "clicks", time: "toUnixTimestamp64Milli(max(ts))" },
];

/**
 * Writes the last clicks of all links to PostgreSQL, where they are later than those there. A run
 * that was interrupted can be repeated, also while clicks are stored.
 */
export async function fillLastClicks(
  clickhouse: Pick<ClickHouse, "query">,
  sql: postgres.Sql,
  log: Log,
  filledAtOnce = FILLED_AT_ONCE,
): Promise<void> {
  let links = 0;
  for (const { table, time } of SOURCES) {
    let after: Uuid | undefined = "00000000-0000-0000-0000-000000000000";
    while (after !== undefined) {
      const rows: LastClick[] = await queryRows<LastClick>(
        clickhouse,
        // In the order of the table, so that it reads no more than the links of this part.
        `SELECT link_id, ${time} AS last_click
           FROM ${table}
          WHERE link_id > {after: UUID} AND class = 'human'
          GROUP BY link_id
          ORDER BY link_id
          LIMIT {limit: UInt32}
       SETTINGS optimize_aggregation_in_order = 1`,
        { after, limit: filledAtOnce },
      );
      await write(sql, rows);
      links += rows.length;
      after = rows.at(-1)?.link_id;
    }
  }
  log.info({ links }, "last_clicks_filled");
}

/** Skips links that were deleted: they have no row. */
const write = (sql: postgres.Sql, rows: readonly LastClick[]) => sql`
  update link_counters counters
     set last_click_at = least(to_timestamp(filled.last_click / 1000.0), now())
    from unnest(${rows.map((row) => row.link_id)}::uuid[], ${rows.map((row) => row.last_click)}::bigint[])
         as filled (link_id, last_click)
   where counters.link_id = filled.link_id and counters.last_click_at < least(to_timestamp(filled.last_click / 1000.0), now())`;
